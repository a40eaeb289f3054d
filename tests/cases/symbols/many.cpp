/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enough C++ for some thousand call sites: templates, inlined library code, lambdas, virtual functions, two of one name. */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {
struct shape {
	virtual ~shape() = default;
	virtual int area(int x) const = 0;
};
template <int N> struct polygon : shape {
	std::vector<int> sides = std::vector<int>(N, 1);
	int area(int x) const override
	{
		return std::accumulate(sides.begin(), sides.end(), x, [](int a, int b) { return a * 3 + b; });
	}
};
int pick(int x) { return x * 2; }
int pick(const std::string &s) { return static_cast<int>(s.size()); }
}

static std::map<std::string, int> count_words(const std::string &text)
{
	std::map<std::string, int> words;
	std::istringstream in(text);
	std::string w;

	while (in >> w)
		words[w] += pick(w);
	return words;
}

static std::string replace(const std::string &text)
{
	static const std::regex vowels("[aeiou]+");

	return std::regex_replace(text, vowels, "*");
}

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<shape>> shapes;
	std::string text = argc > 1 ? argv[1] : "the quick brown fox jumps over the lazy dog the end";
	int sum = pick(argc);

	shapes.push_back(std::make_unique<polygon<3>>());
	shapes.push_back(std::make_unique<polygon<4>>());
	std::sort(shapes.begin(), shapes.end(), [](const auto &a, const auto &b) { return a->area(1) < b->area(2); });
	for (const auto &s : shapes)
		sum += s->area(argc);
	for (const auto &[word, n] : count_words(text))
		std::printf("%s %d\n", word.c_str(), n);
	std::function<int(int)> twice = [&](int x) { return x * 2 + sum; };
	std::printf("%s %d\n", replace(text).c_str(), twice(sum));
	return 0;
}
