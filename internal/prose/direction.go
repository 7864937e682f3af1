package prose

import (
	"strings"
	"unicode"
)

// Direction reads which way a figure is said to go: 1, -1, or 0 if neither a sign nor the words next to it say.
func Direction(t string, f Figure) int {
	before := strings.TrimRight(t[:f.Start], " (\n")
	for len(before) < f.Start {
		word := strings.ToLower(lastWord(before))
		rest := strings.TrimSuffix(before[:len(before)-len(word)], " ")
		if leads(word) {
			before = rest
			continue
		}
		if word == "made" && f.Unit == Percent {
			return 1
		}
		if way := wayBehind(lastWord(rest), word); way != 0 && !places(word) {
			return way
		}
		break
	}
	if f.Sign != 0 {
		return f.Sign
	}
	behind, found := strings.CutPrefix(t[f.End:], " ")
	if !found {
		return 0
	}
	for _, span := range []string{"daily ", "weekly ", "24-hour ", "7-day "} {
		behind = strings.TrimPrefix(behind, span)
	}
	word := behind[:len(behind)-len(strings.TrimLeftFunc(behind, unicode.IsLetter))]
	return wayOf(strings.ToLower(word))
}

// lastWord is the letters that t ends with.
func lastWord(t string) string {
	return t[len(strings.TrimRightFunc(t, unicode.IsLetter)):]
}

// leads reports whether a word may stand between one for a direction and its figure.
func leads(w string) bool {
	switch w {
	case "by", "of", "about", "around", "some", "nearly", "almost", "roughly", "over", "more", "than", "another", "a", "further",
		"only", "just", "as", "much":
		return true
	}
	return false
}

// places reports whether a word says where something is, and not where it went.
func places(w string) bool {
	switch w {
	case "above", "below", "green", "red":
		return true
	}
	return false
}

// Heading reads which way the words say that something goes: the last ones before a figure, else the first behind it; 0 for none.
func Heading(before, behind string) int {
	way := 0
	words := Words(before)
	for i, w := range words {
		before := ""
		if i > 0 {
			before = words[i-1].Text
		}
		if h := wayBehind(before, w.Text); h != 0 {
			way = h
		}
	}
	for _, w := range Words(behind) {
		if way == 0 {
			way = wayOf(w.Text)
		}
	}
	return way
}

// wayBehind is the way of w behind another word: up of itself, none as in makes up, down as in gave up.
func wayBehind(before, w string) int {
	switch Stem(before) + " " + w {
	case "make up", "made up", "making up":
		return 0
	case "give up", "gave up", "given up", "giving up":
		return -1
	case "put on", "putting on", "a plus", "of plus", "to plus":
		return 1
	case "a minus", "of minus", "to minus":
		return -1
	}
	return wayOf(w)
}

func wayOf(w string) int {
	switch Stem(w) {
	case "up", "rose", "rise", "risen", "rising", "gain", "gained", "gaining", "gainer", "climb", "climbed", "climbing", "jump",
		"jumped", "jumping", "add", "added", "adding", "advance", "advanced", "advancing", "rally", "rallied", "rallying", "surge",
		"surged", "surging", "soar", "soared", "soaring", "grew", "grow", "grown", "growing", "higher", "increase", "increased",
		"increasing", "strengthen", "strengthened", "strengthening", "above", "green", "lift", "lifted", "ahead", "expand",
		"expanded", "expanding", "rebound", "rebounded", "recover", "recovered":
		return 1
	case "down", "fell", "fall", "fallen", "falling", "lost", "lose", "losing", "loser", "loss", "losse", "drop", "dropped",
		"dropping", "decline", "declined", "declining", "slid", "slide", "sliding", "shed", "shedding", "sank", "sunk", "sink",
		"slump", "slumped", "slumping", "slip", "slipped", "slipping", "plunge", "plunged", "plunging", "tumble", "tumbled",
		"tumbling", "crash", "crashe", "crashed", "crashing", "shrank", "lower", "decrease", "decreased", "below", "red", "off", "dip",
		"dipped", "weaken", "weakened", "weakening", "cut", "behind", "wiped", "retreat", "retreated",
		"retreating", "contract", "contracted", "contracting", "shrink", "shrunk", "shrinking":
		return -1
	}
	return 0
}
