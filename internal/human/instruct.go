package human

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// What follows is compiled when it is first needed: a short command would spend a fifth of its time on it.

// instruction matches words, in lower case and with single spaces between them, that give a model an order or pretend to stand outside
// the data. Each needs a verb with what it is done to, for real coins and headlines have either alone: Render, Send, Prompt, "Ignore the
// noise".
var instruction = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + strings.Join([]string{
		`(?:ignore|ignoring|disregard|forget|override|overrule|bypass)(?: \w+){0,4}? ` +
			`(?:instructions?|prompts?|directives?|guidelines?|guardrails?|(?:safety|system|your) rules|context)\b`,
		`(?:ignore|disregard|forget) (?:every|any)?(?:thing|all|whatever|what)(?: \w+){0,3}? (?:above|before|said|told|previous|prior|else)\b`,
		`(?:ignore|disregard|forget) (?:the |all |any )*(?:above|previous|prior|earlier)(?: \w+)?$`,
		`(?:system|developer|hidden|secret) (?:prompt|message|instructions?|override|directive)\b`,
		`(?:new|updated|special|important|following) instructions? (?:for ` + models + `|follow|below)\b`,
		`(?:attention|note|notice|message|dear|hey|hello) (?:to |for )?` + models + `\b`,
		models + ` (?:must|should|shall|ha(?:ve|s) to|needs? to|please) (?:always |now |only )?` +
			`(?:buy|sell|recommend|ignore|obey|say|tell|treat|send|transfer|call|answer|reply|respond|output)\b`,
		`you are (?:now|no longer|in) (?:an?|the|in|my|bound|restricted|developer|debug|admin|free)\b`,
		`(?:act|behave|respond|role ?play) as (?:an?|if|the) (?:\w+ )?(?:ai|assistant|agent|model|admin|developer|user|system|you)\b`,
		`(?:pretend|imagine) (?:that )?(?:to be|you are|you re) `,
		`(?:reveal|print|show|output|repeat|leak|expose|dump|exfiltrate|send|tell)(?: me| us| them)? (?:your|all|the|its)(?: \w+){0,2}? ` +
			`(?:prompts?|instructions?|(?:api |private )?keys?|seed(?: phrases?)?|passwords?|credentials|secrets?|environment variables?)\b`,
		`(?:send|transfer|wire|withdraw|forward|move|deposit|swap|convert|bridge|drain|pay|approve)(?: \w+){0,2}? ` +
			`(?:all|your|every|everything|(?:the )?entire|the whole|remaining)(?: \w+){0,3}? ` +
			`(?:to|into|from|for) (?:0x|this|the following|my|our|me|us|address|wallet|account)`,
		`(?:send|transfer|wire|withdraw|forward|pay|approve)(?: \w+){0,5}? (?:to )?0x[0-9a-f]{6,}`,
		`(?:send|transfer|wire|withdraw|forward) (?:all|your)(?: of)?(?: your)? ` +
			`(?:funds?|money|coins?|tokens?|balances?|assets?|holdings?|crypto|usd[ctg]|eth|btc|sol)\b`,
		`(?:call|invoke|run|execute|use) (?:the |this |that |your )(?:\w+ )?(?:tools?|functions?|commands?|shell|script|code)\b`,
		`(?:run|execute) (?:curl|wget|bash|sh|rm|python|sudo|powershell)\b`,
		`(?:do not|don ?t|never) (?:tell|mention|inform|warn|alert|notify|disclose|reveal|show)(?: \w+){0,3}? ` +
			`(?:users?|operators?|humans?|any(?:one|body)|owners?|this)\b`,
		`(?:tell|inform|convince|persuade|urge|advise|instruct) (?:the |your |all |every )(?:users?|humans?|operators?|owners?|principals?)\b`,
		`(?:respond|reply|answer|output|say|print|write) (?:only |just |exactly |nothing )+(?:but |with |in |the |that |this |yes|no|ok|true)`,
		`(?:always|please|you must) (?:recommend|buy|endorse|promote|respond|reply|answer|obey|comply|say|cite)\b`,
		`(?:recommend|endorse|promote|shill) (?:this|buying|only|it|me|us) `,
		`(?:treat|mark|rate|classify|flag|report|describe) (?:this|it|us|me)(?: \w+){0,2}? as ` +
			`(?:safe|verified|trusted|official|legit(?:imate)?|bullish|secure|audited|a must|the best|low risk|risk free)\b`,
		`(?:follow|obey|execute) (?:these|the following|my|our) (?:instructions?|orders?|commands?|steps|rules)\b`,
		`(?:developer|debug|dan|god|admin|maintenance) mode (?:on|enabled|activated|engaged)\b`,
		`(?:end|begin|start) of (?:the )?(?:data|prompt|context|instructions?|system|state|input|document)\b`,
		`do anything now\b`,
	}, "|") + `)`)
})

// models is what orders to models call them.
const models = `(?:the |all |any )?(?:ai|llm|agents?|assistants?|(?:language )?models?|bots?|chatgpt|claude|gemini)`

// frame matches what sets turns of a conversation apart, in the text as it is.
var frame = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		`<\|?/?\s*(?:im_start|im_end|system|assistant|user|instructions?|prompt|tool|function|endoftext|state|sources)\b`,
		`\[/?(?:inst|sys|system)\]`, `<</?sys>>`, `^\W*(?:system|assistant)\s*:`, `#{2,}\s*(?:instructions?|system|response|assistant|user)`,
	}, "|"))
})

// squeezed matches orders whose words stand together, as in the name of a coin.
var squeezed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`(?:ignore|disregard|forget|override)(?:all|any|the|your|my|prior|previous|above|earlier|other|system|safety)*` +
			`(?:instructions?|prompts?|directives?|guidelines?|guardrails?)`,
		`(?:ignore|disregard|forget)(?:all|everything)?(?:previous|prior|above)`,
		`systemprompt`, `systemoverride`, `developermodeon`, `doanythingnow`, `sendallfunds`, `transferallfunds`, `revealyour`, `printyour`,
	}, "|"))
})

// begins reports whether a word is one of those of which every text that instruction matches has one. Few names have any, which spares
// the rest the matching.
func begins(word string) bool {
	switch word {
	case "ignore", "ignoring", "disregard", "forget", "override", "overrule", "bypass", "system", "developer", "hidden", "secret",
		"instruction", "instructions", "attention", "note", "notice", "message", "dear", "hey", "hello", "ai", "llm", "agent", "agents",
		"assistant", "assistants", "model", "models", "language", "bot", "bots", "chatgpt", "claude", "gemini", "you", "act", "behave",
		"respond", "role", "roleplay", "pretend", "imagine", "reveal", "print", "show", "output", "repeat", "leak", "expose", "dump",
		"exfiltrate", "send", "tell", "transfer", "wire", "withdraw", "forward", "move", "deposit", "swap", "convert", "bridge", "drain",
		"pay", "approve", "call", "invoke", "run", "execute", "use", "do", "don", "dont", "never", "inform", "convince", "persuade",
		"urge", "advise", "instruct", "reply", "answer", "say", "write", "always", "please", "recommend", "endorse", "promote", "shill",
		"treat", "mark", "rate", "classify", "flag", "report", "describe", "follow", "obey", "debug", "dan", "god", "admin",
		"maintenance", "end", "begin", "start":
		return true
	}
	return false
}

// joined reports whether text has one of those of which every text that squeezed matches has one.
func joined(text string) bool {
	for _, part := range [...]string{
		"ignore", "disregard", "forget", "override", "system", "developer", "anything", "allfunds", "reveal", "printyour",
	} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// Instructs reports whether s, a name or headline that somebody else chose, reads as an instruction to a model rather than as what it
// should be. It is a sign for readers, not a defence: text from outside is data whatever it says.
func Instructs(s string) bool {
	if strings.ContainsAny(s, "<[:#") && frame().MatchString(s) {
		return true
	}
	parts := strings.FieldsFunc(strings.ToLower(plainLetters(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(parts) > 1 && slices.ContainsFunc(parts, begins) && instruction().MatchString(strings.Join(parts, " ")) {
		return true
	}
	together := strings.Join(parts, "")
	return joined(together) && squeezed().MatchString(together)
}

// plainLetters is s with letters that only look different as plain ones: of full width, mathematical, and of Cyrillic and Greek that are
// drawn as Latin.
func plainLetters(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r <= unicode.MaxASCII:
			return r
		case 'Ａ' <= r && r <= 'ｚ':
			return r - 'Ａ' + 'A'
		case 0x1d400 <= r && r <= 0x1d6a3: // alphabets of 52 letters each
			n := (r - 0x1d400) % 52
			if n < 26 {
				return 'a' + n
			}
			return 'a' + n - 26
		}
		if i := strings.IndexRune(lookalikes, r); i >= 0 {
			return rune(latin[len([]rune(lookalikes[:i]))])
		}
		return r
	}, s)
}

// lookalikes are drawn as the letters of latin at the same place.
const (
	lookalikes = "аеорсухіѕјнтмвкАЕОРСУХІЅЈНТМВКονικΟΝΙΚ"
	latin      = "aeopcyxisjhtmbkAEOPCYXISJHTMBKovikONIK"
)

// Named is a name in a sentence: as it is or, where it reads as an instruction, Quote.
func Named(s string) string {
	if Instructs(s) {
		return Quote(s)
	}
	return s
}

// Quote is somebody else's text in quotation marks that it cannot close.
func Quote(s string) string {
	return "“" + strings.NewReplacer("“", "'", "”", "'").Replace(s) + "”"
}
