package prose

import "regexp"

const (
	risen  = `up|rose|rises|risen|rising|gain(?:s|ed|ing)?|climb(?:s|ed|ing)?|add(?:s|ed|ing)?|jump(?:s|ed|ing)?|advanc(?:es|ed|ing)|rall(?:ies|ied|ying)|surg(?:es|ed|ing)|soar(?:s|ed|ing)?|grew|grows|higher`
	fallen = `down|fell|falls?|fallen|falling|los(?:t|es|e|ing)|drop(?:s|ped|ping)?|declin(?:es|ed|ing)|slid(?:es?|ing)?|shed(?:s|ding)?|sank|sinks|slump(?:s|ed|ing)?|slipp?(?:s|ed|ing)?|plung(?:es|ed|ing)|tumbl(?:es|ed|ing)|crash(?:es|ed|ing)?|shrank|off|lower`
	lead   = `(?: by| of| about| around| some| nearly| almost| roughly| over| more than| another| a further| only| just| as much as)*[ (]+$`
)

var (
	riseBefore = regexp.MustCompile(`(?i)\b(?:` + risen + `|increase|rise|advance|rally|jump)` + lead)
	fallBefore = regexp.MustCompile(`(?i)\b(?:` + fallen + `|decrease|decline|drop|loss|slide|slump)` + lead)
	riseAfter  = regexp.MustCompile(`(?i)^ (?:(?:daily|weekly|24-hour|7-day) )?(?:higher|gain|rise|increase|jump|rally|advance|above|up)\b`)
	fallAfter  = regexp.MustCompile(`(?i)^ (?:(?:daily|weekly|24-hour|7-day) )?(?:lower|drop|fall|loss|decline|decrease|slide|slump|below|down)\b`)
)

// Direction reads which way a percentage is said to go: 1, -1, or 0 if the words next to it do not say.
func Direction(masked string, f Figure) int {
	if f.Unit != Percent && f.Unit != Basis {
		return 0
	}
	before, after := lastBytes(masked[:f.Start], 60), masked[f.End:]
	switch {
	case riseBefore.MatchString(before):
		return 1
	case fallBefore.MatchString(before):
		return -1
	case f.Sign != 0:
		return f.Sign
	case riseAfter.MatchString(after):
		return 1
	case fallAfter.MatchString(after):
		return -1
	}
	return 0
}
