package state

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/internal/prose"
)

// saying is a form with the plainer one that stands for it.
type saying struct {
	form  func() *regexp.Regexp
	plain string
	has   string // letters of every text that has the form, in small ones; "" for several
}

// These are forms of comparisons, orders and times.
var (
	rankedTop = prose.Form(`(?i)\b(?:highest|top|best)[ -]rank(?:ed|ing)\b`)
	rankedOr  = prose.Form(`(?i)\branked (\d+) or (?:better|higher|above)\b`)
	plusForm  = prose.Form(`(?i)(^|\s)(\$?\d[\d.]*(?:[kmbt]n?)?%?)\+(\s|$)`)
	noMore    = prose.Form(`(?i)\b(?:no|not) (?:more|higher|greater|larger|bigger|longer) than ` + amountForm)
	noLess    = prose.Form(`(?i)\b(?:no|not) (?:less|lower|fewer|smaller|shorter) than ` + amountForm)
	emphatic  = prose.Form(`(?i)\b(?:strictly|well|way|far|comfortably) (above|over|below|under|` +
		`(?:more|less|higher|lower|greater|fewer) than)\b`)
	pastForm = prose.Form(`(?i)\b(?:(?:went|go|goes|gone|going|got) )?(?:past|beyond|upwards of|surpass(?:es|ed|ing)?|` +
		`top(?:s|ped|ping)|pass(?:es|ed|ing)|cross(?:es|ed|ing)?|exceed(?:s|ed|ing)?) ` + sumForm)
	cheaperThan = prose.Form(`(?i)\bcheaper than ` + amountForm)
	dearerThan  = prose.Form(`(?i)\b(?:pricier|dearer|costlier|more expensive) than ` + amountForm)
	longerThan  = prose.Form(`(?i)\b(?:longer|wider) than ` + sumForm)
	shorterThan = prose.Form(`(?i)\bshorter than ` + sumForm)
	thanThen    = prose.Form(`(?i)(^|[,;] ?|\b(?:so|whether|if|and|hey|ok|okay|alright) )is ([^,;]{3,40}?) (?:higher|lower|up|down|` +
		`above|below|bigger|smaller|more|less)(?: or (?:higher|lower|down|bigger|smaller|less))? than (?:it was |it stood )?(?:at )?` + agoForm)
	aboutThen = prose.Form(`(?i)\b(since|for|from|at|over|around) (?:like|say|maybe|about|around|roughly|approximately) ` +
		`(an?\b|\d|one|two|three|four|five|six|seven|eight|nine|ten|twelve|noon|midnight|last\b)`)
	countedFrom = prose.Form(`(?i)\b(?:counting|starting|measured|reckoned|beginning|counted) (?:from|since|on|at|as of)\b`)
	dayOfDate   = prose.Form(`(?i)\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,? (?:the )?(\d{1,2}(?:st|nd|rd|th)?(?: of)? ` +
		monthForm + `|` + monthForm + ` \d{1,2}\b)`)
	overEvery   = prose.Form(`(?i)\b(?:over|across) (?:every|each)(?: single)?\b`)
	recordHigh  = prose.Form(`(?i)\b(?:(?:new|fresh) )?(?:record|lifetime) (?:high|peak)\b`)
	perMil      = prose.Form(`(?i)\bper mil\b`)
	inAndOut    = prose.Form(`(?i)\bin and out\b`)
	rankedTo    = prose.Form(`(?i)\branked (?:from )?(?:1|one|first) (?:to|through) (` + tenths + `)\b`)
	rankedHigh  = prose.Form(`(?i)\b(` + tenths + `) (coins|assets|tokens|protocols|chains) ranked highest\b`)
	superlative = prose.Form(`(?i)\b(?:the more|(?:the )?most) (big|large|high|low|small|cheap|new|old|strong|weak)\b`)
	hasMore     = prose.Form(`(?i)\b(has|have|having) the more\b`)
	outright    = prose.Form(`(?i)\b(?:absolute|outright|absolutely the) ((?:cheap|low|high|great|large|small|bigg|worst|best)\w*|` +
		`priciest)\b`)
	netMove     = prose.Form(`(?i)\bnet (move|change|moved|changed)\b`)
	priceAction = prose.Form(`(?i)\bprice action\b`)
	ownOf       = prose.Form(`(?i)(['’]s?) own\b`)
	withForm    = prose.Form(`(?i)\bw/(o\b)?`)
	decentral   = prose.Form(`(?i)\bdecentrali[sz]ed (perp(?:etual)?s? )?(?:exchange|venue|platform)(s?)\b`)
	ofPeg       = prose.Form(`(?i)\b(?:his|her|their) peg\b`)
	feeNetwork  = prose.Form(`(?i)\b(fees?|gas|gwei|sats?)\b(.*)\bon (?:the )?(bitcoin|btc|ethereum|eth) ` +
		`(?:network|blockchain|chain|mainnet)\b`)
	fromDay = prose.Form(`(?i)\b(moved?|changed?|gained|lost|grown|risen|fallen|grew|rose|fell|dropped)\b(.{0,30}) from ` +
		`(?:last )?(mon|tues|wednes|thurs|fri|satur|sun)day\b`)
	partOf    = prose.Form(`(?i)\b(?:what|which) (?:proportion|fraction|percentage) of (?:the |all )?(coins|assets|tokens)\b`)
	fromTo    = prose.Form(`(?i)^(.*?),? (?:between|from) (` + clockTime + `) (?:and|to|until|till) (` + clockTime + `)([?.!]*)$`)
	movesForm = prose.Form(`(?i)\b(?:mov|chang|ris|rose|fell|fall|gain|lost|los|up|down|grow|grew|drop|high|low|most|least|average|` +
		`mean|peak|rang|swing|shift|how much (?:did|has)|by how|volume|trad|turn|flow|mint|burn|issu|news|headline|stor|hack|` +
		`event|filing|releas|how many|number|total|sum|count|transact|tx|liquidat|perform|return)\w*`)
	numberWay = prose.Form(`(?i)\bnumber (up|down|green|red|advancing|declining)\b`)
	bySide    = prose.Form(`(?i)\bfor (?:the )?(?:shorts to (?:collect|earn|receive|get|harvest)|longs to pay)\b`)
	lists     = prose.Form(`(?i)\b((?:` + tenths + `)-,? (?:(?:and|or|to) )?)+(?:` + tenths + `)-(?:year|month|day|hour)\b`)
	hyphened  = prose.Form(`(?i)\b(` + tenths + `)-(,? )`)
	yearPoint = prose.Form(`(?i)(-(?:year|month)) (?:points?|segments?)\b`)
	thinking  = prose.Form(`(?i)(?:,\s*(?:let say|lets say|say|like|you know|um+|uh+|erm?)|\s(?:um+|uh+|erm))\s*,\s*`)
	justThen  = prose.Form(`(?i)\b(in|over|since|within|for|during) just (the|this|an?|\d|one|two|three)\b`)
	dotForm   = prose.Form(`(?i)\b(\w+) dot (ai|com|io|fi|xyz|org)\b`)
	justMe    = prose.Form(`(?i),? or is it (?:just|only) (?:me|us|(?:on )?(?:my|our))\b(?: [a-z-]+){0,5}[?.! ]*$`)
	nextTopic = prose.Form(`(?i)^((?:(?:ok|okay|good|fine|great|right|alright|cool|thanks|perfect|nice)[,.!]* )*)next,? (the )`)
	howFar    = prose.Form(`(?i)\bhow far (has|have) ([^,;?]{2,30}?) (?:come|gone|run|travell?ed|swung|got)\b`)
	gotAway   = prose.Form(`(?i)\bhow much (?:money )?did (?:the )?` + thiefForm + ` ` + awayForm + ` (?:at|from|in)\b`)
	// What rose and what fell are two figures of one row.
	roseFell = prose.Form(`(?i)\b(?:(?:the )?(?:number|count|tally) of|how many)(?: of)?(?: the| your| all| these| those)? ?` +
		`(?:` + coinForm + ` )?(?:(?:that|which|like|actually|currently) )*` + beForm + `(?:` + upForm + `)\b([^,;]{0,40}?),? (?:and|versus|vs|against|or) ` +
		`(?:how many )?(?:` + coinForm + ` )?` + beForm + `(?:` + downForm + `)\b` + dayTail)
	bothSides = prose.Form(`(?i)\b(?:(?:the )?(?:number|count|tally|ratio) of )?` +
		`(?:advancers|advancing|gainers|risers|winners)(?: ` + coinForm + `)? ?(?:versus|vs|against|/) ?` +
		`(?:decliners|declining|losers|fallers)(?: (?:across (?:the |all |your )?(?:\w+ )?)?` + coinForm + `)?\b` + dayTail)
	advDec  = prose.Form(`(?i)\badv(?:ance)? ?/ ?dec(?:line)?(?: line| ratio)?\b` + dayTail)
	inHurry = prose.Form(`(?i)\b(?:in a hurry|in a rush|asap|urgently|right away|straight away|as fast as possible|quickly|immediately)\b`)
	// A figure that has the name of a span.
	halfHour = prose.Form(`(?i) (?:(?:for|within|in) )?(?:a )?half[ -](?:an )?hour(?:$|\W)`)
	feeWord  = prose.Form(`(?i)\b(?:gas|gwei|fees?|sats?)\b`)
	// A clock that something is compared with.
	offClock = prose.Form(`(?i)\b(?:off|from|vs|versus|against) (?:of )?(?:the |its |this morning['’]?s )?(` + clockTime + `) ` +
		`(?:print|level|mark|fix|reading|price|open|quote)\b`)
	// What does best or worst is what rises or falls most.
	endsCounted   = prose.Form(`(?i)\b(best|worst|top) ` + countForm + ` performer`)
	bestOnes      = prose.Form(`(?i)\b(?:best|top) performer(s?)\b`)
	worstOnes     = prose.Form(`(?i)\bworst performer(s?)\b`)
	bestGoing     = prose.Form(`(?i)\b(?:best|top)[- ]performing\b`)
	worstGoing    = prose.Form(`(?i)\bworst[- ]performing\b`)
	tradingVolume = prose.Form(`(?i)\btrading volumes?\b`)
	moreThen      = prose.Form(`(?i)\b(more|less|higher|lower|greater|bigger|larger|smaller|fewer|better|worse|cheaper) then\b`)
	spacedClock   = prose.Form(`(?i)\b(\d{1,2}|` + tenths + `|eleven) ([ap])\.? m\b\.?`)
	// These are words for others that packs have.
	greenback = prose.Form(`(?i)\bgreenbacks?\b`)
	comesIn   = prose.Form(`(?i)\b(?:rate|price|cost|charge)s? (?:going|coming) in\b`)
	comesOut  = prose.Form(`(?i)\b(?:rate|price|cost|charge)s? (?:going|coming) out\b`)
	// A price is that of a million tokens.
	ofTokens = prose.Form(`(?i)\b(?:cost|price|rate|charge)s?\b([^,;?]*?) (?:per|for(?: an?| one| each)?) (?:(?:million|1m|m) )?` +
		`(input|output|prompt|completion)(?: tokens?)?\b`)
	perToken = prose.Form(`(?i)\b((?:cost|price|rate|charge)s?\b[^,;?]*?) per (?:million|1m|m) tokens?\b`)
	// What trades for so much has a price, and what trades so much a day a volume.
	tradesDay = prose.Form(`(?i)\btrad(?:e|es|ed|ing) ((?:over|above|more than|at least|under|below|less than) [^,;?]{1,24}?) ` +
		`(?:(?:a|per|each|every) day|daily)\b`)
	tradesFor = prose.Form(`(?i)\btrad(?:e|es|ed|ing) ((?:over|above|under|below) \$?[\d.,]+ ?(?:dollars?|usd|cents?|bucks))\b`)
	sortedBy  = prose.Form(`(?i),? (?:when|if|once) (?:you |we |i |they are |it is )?(?:sort|rank|order|list)(?:s|ed|ing)?(?: them| it)? by\b`)
	overAt    = prose.Form(`(?i)\bover (at|on) ([a-z]+)\b`)
	atLast    = prose.Form(`(?i),? instead([?.! ]*)$`)
	whatDid   = prose.Form(`(?i)\bwhat (did|has|have) ([^,;?]{2,30}?) (?:do|done) (in|over|during|since|within)\b`)
	dollarsOf = prose.Form(`(?i)\bhow many dollars of (\w+) (?:are there|exist|are out there|are in circulation|circulate)\b`)
	stolenAll = prose.Form(`(?i)^how much (?:money |value |crypto )?(?:was|were|is|has been|have been|got) ` +
		`(?:(?:stolen|hacked|drained|looted|exploited)(?: ` + inHacks + `)?|(?:lost|taken) ` + inHacks + `)` +
		`((?: so far)? (?:this year|this month|this week|today|in \d{4}|since .*|` +
		`(?:in|over|during|within) the (?:last|past) .*))?[?.! ]*$`)
	isOut     = prose.Form(`(?i)\bwhen(?:['’]?s| is| are| will)? (?:the )?(?:next )?([a-z ]{2,30}?)(?: be)? (?:out|published|released|coming out)[?.! ]*$`)
	confirmed = prose.Form(`(?i)\b(?:charges?|costs?|pay|take) to (?:get )?(?:a transaction )?confirm(?:ed)?\b`)
	theyGot   = prose.Form(`(?i)\bhow much (?:money )?did (?:the )?(\w+) ` + thiefForm + ` ` + awayForm)
)

// said are forms, each with a plainer one that the vocabulary has: 10m or more, ranked 30 or better, past $100 million.
func said() []saying {
	return []saying{
		{rankedTop, "top", ""},
		{rankedOr, "with a rank of at most $1", ""},
		{plusForm, "${1}at least $2$3", ""},
		{noMore, "at most $1", ""},
		{noLess, "at least $1", ""},
		{emphatic, "$1", ""},
		{cheaperThan, "price below $1", ""},
		{dearerThan, "price above $1", ""},
		{longerThan, "above $1", ""},
		{shorterThan, "below $1", ""},
		{aboutThen, "$1 $2", ""},
		{countedFrom, "since", ""},
		{dayOfDate, "$1", ""},
		{overEvery, "across all", ""},
		{recordHigh, "new all time high", ""},
		{perMil, "per million", ""},
		{inAndOut, "input and output", ""},
		{rankedTo, "in the top $1", "ranked"},
		{rankedHigh, "$1 largest $2", "ranked"},
		{hasMore, "$1 the most", "the more"},
		{outright, "$1", ""},
		{netMove, "$1", "net"},
		{priceAction, "price", "action"},
		{ownOf, "$1", " own"},
		{decentral, "${1}dex$2", "decentrali"},
		{ofPeg, "its peg", " peg"},
		{feeNetwork, "$1$2 on $3", " on "},
		{partOf, "what share of $1", "of "},
		{numberWay, "how many $1", "number"},
		{bySide, "", "for "},
		{yearPoint, "$1", "-"},
		{thinking, " ", ","},
		{justThen, "$1 $2", "just"},
		{dotForm, "$1.$2", " dot "},
		{justMe, "", "or is it"},
		{nextTopic, "$1$2", "next"},
		{howFar, "how much $1 $2 moved", "how far"},
		{gotAway, "how much was stolen from", " with"},
		{roseFell, "advancers and decliners$1", ""},
		{bothSides, "advancers and decliners", ""},
		{advDec, "advancers and decliners", "adv"},
		{offClock, "since $1", ":"},
		{endsCounted, "$2 $1 performer", "performer"},
		{bestOnes, "biggest gainer$1", "performer"},
		{worstOnes, "biggest loser$1", "performer"},
		{bestGoing, "biggest gaining", "performing"},
		{worstGoing, "biggest losing", "performing"},
		{tradingVolume, "volume", "trading vol"},
		{moreThen, "$1 than", " then"},
		{greenback, "dollar", ""},
		{comesIn, "input price", "ing in"},
		{comesOut, "output price", "ing out"},
		{ofTokens, "$2 price$1", ""},
		{perToken, "$1", " token"},
		{tradesDay, "with volume $1", "trad"},
		{tradesFor, "with price $1", "trad"},
		{sortedBy, " by", " by"},
		{overAt, "$1 $2", "over "},
		{atLast, "$1", "instead"},
		{whatDid, "how much $1 $2 moved $3", "what "},
		{dollarsOf, "$1 supply", "dollars of"},
		{stolenAll, "total stolen in hacks$1", ""},
		{isOut, "when is the next $1", "when"},
		{confirmed, "fee to confirm", "confirm"},
		{theyGot, "how much was stolen from $1", " with"},
	}
}

var (
	dayForm   = prose.Form(`(?i),? (?:today|yesterday|on \d{1,2} ` + monthForm + `(?: \d{4})?)$`)
	untilForm = prose.Form(`(?i)^,? (?:to|until|till|through|and)\b`)
	happened  = prose.Form(`(?i)\b(?:has|have|had|did|when|will)\b`)
	orMore    = prose.Form(`(?i)` + amountForm + `,? (or|and) (?:(more|above|over|higher|greater|longer|larger|bigger|upwards|beyond)|` +
		`(less|below|under|lower|fewer|smaller|shorter|cheaper))\b`)
	bothEnds = prose.Form(`(?i)\b` + countForm + ` ` + endForm + ` and (?:the )?` + countForm + ` ` + endForm + `\b`)
)

const (
	inHacks = `(?:in|to|from|through|by|via) (?:the |all |all the )?(?:hacks?|exploits?|hackers|attacks?|thefts?)`
	// dayTail is the span of what rose and fell.
	dayTail = `(?:,? (?:(?:over|in|during|on|within|for) )?(?:the )?(?:last |past )?` +
		`(?:day|24 ?h(?:ours|rs)?|24-hours?|today|twenty[- ]four hours)\b)?`
	coinForm   = `(?:coins|assets|tokens|cryptos|cryptocurrencies)`
	beForm     = `(?:(?:are|were|have|went|closed|traded|moved|is|currently|in the|in) )*`
	upForm     = `up|rose|risen|gained|green|advancing|advanced|rising|higher|positive`
	downForm   = `down|fell|fallen|lost|red|declining|declined|falling|lower|negative|dropped`
	countForm  = `(\d+|two|three|four|five|six|seven|eight|nine|ten|twenty)`
	endForm    = `(best|worst|top|bottom|biggest|smallest|highest|lowest|largest)`
	thiefForm  = `(?:hackers?|thie(?:f|ves)|attackers?|robbers?|exploiters?|criminals)`
	awayForm   = `(?:(?:get|got) away|(?:make|made) off|walk (?:away|off)|run off) with`
	digitForm  = `(zero|one|two|three|four|five|six|seven|eight|nine|\d+)`
	wordForm   = `(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|fifty|hundred|half a)`
	scaleForm  = `(?:thousand|million|billion|trillion|percent|per cent|pct|cents?|dollars?|bucks|usd|%|[kmbt]n?\b)`
	figureOf   = `(\$?(?:\b\d[\d.,]*|\b` + wordForm + `\b)(?:[ -]?` + scaleForm + `)`
	amountForm = figureOf + `*(?: (?:tokens|points|votes|upvotes|likes|downloads))?)`
	tenths     = `\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|fifty`
	clockTime  = `(?:(?:yesterday|today) (?:at )?)?(?:noon|midnight|\d{1,2}:\d\d|\d{1,2} ?(?:am|pm))(?: utc)?` +
		`(?: (?:today|yesterday)|,? on \d{1,2} ` + monthForm + `(?: \d{4})?)?`
	agoForm   = `((?:an?|one|two|three|four|five|six|seven|\d+) (?:hour|day|week|month)s? ago|yesterday)`
	monthForm = `(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*`
	sumForm   = figureOf + `+|\$\d[\d.,]*)`
)

var pointForm = prose.Form(`(?i)\b` + digitForm + ` point ` + digitForm + `\b`)

// digitOf is a number below ten by its word.
func digitOf(word string) string {
	i := slices.Index([]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}, word)
	if i < 0 {
		return word
	}
	return strconv.Itoa(i)
}

// severals are words for things of a kind, of which none is named.
const severals = "|any|some|every|each|all|a|an|one|no|more|"

// plainly says comparisons and orders in the plainer forms.
func plainly(q string) string {
	if strings.Contains(q, " point ") {
		q = pointForm().ReplaceAllStringFunc(q, func(text string) string { // two point five
			parts := strings.Fields(strings.ToLower(text))
			return digitOf(parts[0]) + "." + digitOf(parts[2])
		})
	}
	if m := orMore().FindStringSubmatchIndex(q); m != nil {
		rest := strings.TrimLeft(q[m[1]:], " ")
		ends := rest == "" || strings.ContainsAny(rest[:1], "?!.,;")
		goesOn := rest != "" && strings.ContainsAny(rest[:1], "$0123456789") || strings.HasPrefix(rest, "than ")
		if or := strings.EqualFold(q[m[4]:m[5]], "or"); ends || or && !goesOn { // not below $1 or above $100, over 1bn and below its peg
			op := "at least "
			if m[6] < 0 {
				op = "at most "
			}
			q = q[:m[0]] + op + q[m[2]:m[3]] + q[m[1]:]
		}
	}
	if m := bothEnds().FindStringSubmatch(q); m != nil && strings.EqualFold(m[1], m[3]) { // 3 best and 3 worst
		q = bothEnds().ReplaceAllString(q, "$1 $2 and $4")
	}
	if m := thanThen().FindStringSubmatch(q); m != nil && !oneOf(strings.ToLower(strings.Fields(m[2] + " a")[0]), severals) {
		q = thanThen().ReplaceAllString(q, "$1 $2 now and $3")
	}
	if spacedClock().MatchString(q) {
		q = spacedClock().ReplaceAllString(q, "${1}${2}m")
	}
	if feeWord().MatchString(q) {
		q = inHurry().ReplaceAllString(halfHour().ReplaceAllString(q, " halfhour "), "fast")
	}
	small := strings.ToLower(q)
	if strings.Contains(small, "w/") {
		q = withForm().ReplaceAllStringFunc(q, func(w string) string {
			if len(w) > 2 {
				return "without"
			}
			return "with "
		})
	}
	if strings.Contains(small, " mo") {
		q = superlative().ReplaceAllStringFunc(q, func(said string) string {
			words := strings.Fields(strings.ToLower(said))
			return "the " + map[string]string{"big": "biggest", "large": "largest", "high": "highest", "low": "lowest", "small": "smallest",
				"cheap": "cheapest", "new": "newest", "old": "oldest", "strong": "strongest", "weak": "weakest"}[words[len(words)-1]]
		})
	}
	if m := fromTo().FindStringSubmatch(q); m != nil && !movesForm().MatchString(m[1]) && !strings.Contains(m[1], " and ") {
		if day := dayForm().FindString(m[3]); !dayForm().MatchString(m[2]) { // from midnight to noon today
			m[2] += day
		}
		q = m[1] + " at " + m[2] + " and " + m[1] + " at " + m[3] + m[4]
	}
	if m := fromDay().FindStringSubmatchIndex(q); m != nil && !untilForm().MatchString(q[m[1]:]) {
		q = fromDay().ReplaceAllString(q, "$1$2 since ${3}day")
	}
	if strings.Contains(small, "- ") || strings.Contains(small, "-,") {
		q = lists().ReplaceAllStringFunc(q, func(said string) string { // two-, ten- and thirty-year
			return hyphened().ReplaceAllString(said, "$1"+said[strings.LastIndex(said, "-"):]+"$2")
		})
	}
	if !happened().MatchString(q) { // has it crossed $100k: at some time, which no row says
		q = pastForm().ReplaceAllString(q, "above $1")
	}
	for _, s := range said() {
		if !strings.Contains(small, s.has) {
			continue
		}
		q = s.form().ReplaceAllString(q, s.plain)
	}
	return q
}
