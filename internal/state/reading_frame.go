package state

import (
	"slices"
	"strings"
)

// core is the question without what people say around it: who asks, and why. It is nil where nothing is around it. What it leaves out
// names no figure, order, time or scope, and speaks of somebody or gives a reason; a thing, a kind or a field is named there in passing
// where the question has its own.
func (t *Tables) core(words []term) []term {
	folded := texts(words)
	pieces := t.piecesOf(words, folded)
	from, _ := t.preamble(words, folded, pieces, false, func(f frame, i int) bool {
		return len(f.names) == 0 && !f.kinds && !f.fields || !f.negated && !f.placed && t.complete(words[i:], f)
	})
	if from == 0 {
		from, _ = t.preamble(words, folded, pieces, true, func(f frame, i int) bool { return t.whole(words[i:], f) })
	}
	to := t.reason(words, folded, pieces, from)
	if from == 0 && to == len(words) {
		return nil
	}
	return words[from:to]
}

// carried is the question with what was named before it, by somebody who speaks of himself, where it names nothing: I hold some solana and
// would like to know the price. It is nil where that is not so.
func (t *Tables) carried(words []term) []term {
	folded := texts(words)
	pieces := t.piecesOf(words, folded)
	from, names := t.preamble(words, folded, pieces, false, func(f frame, i int) bool {
		return len(f.names) == 1 && !f.joined && !(f.negated && f.kinds) && t.open(words[i:], f)
	})
	var venues []piece
	if from == 0 {
		from, names = t.preamble(words, folded, pieces, true, func(f frame, i int) bool {
			venues = f.venues
			known := len(venues) == 1
			if slices.ContainsFunc(words[i:], isThere) != known || !known && len(venues) > 0 {
				return false
			}
			if len(f.names) != 1 || f.joined || f.negated {
				return false
			}
			_, amount := figure(at(folded, f.names[0].from-1)) // 3 of it, and perhaps the price of these
			return !amount && t.open(words[i:], f)
		})
	}
	if from == 0 {
		return nil
	}
	asks := words[from:t.reason(words, folded, pieces, from)]
	if len(venues) == 1 {
		asks = slices.Concat(words[venues[0].from:venues[0].to], slices.DeleteFunc(slices.Clone(asks), isThere))
	}
	return slices.Concat(words[names[0].from:names[0].to], asks)
}

// piecesOf is what the words may mean from a place on, found once for each.
func (t *Tables) piecesOf(words []term, folded []string) func(i int) []piece {
	found, lists := make([]bool, len(words)), make([][]piece, len(words))
	return func(i int) []piece {
		if !found[i] {
			found[i], lists[i] = true, t.pieces(words, folded, i)
		}
		return lists[i]
	}
}

// isThere reports whether a word goes back to a venue that was named.
func isThere(w term) bool { return w.text == "there" }

// frame is what words around a question speak of.
type frame struct {
	names         []piece // of things
	kinds, fields bool
	negated       bool
	placed        bool // something happens at one of them
	joined        bool // a name stands beside a word such as and, and perhaps another that is not known
	timed         bool // a time is named that is not now
	ordered       bool // a figure or an order
	venues        []piece
}

// complete reports whether a question has a thing and a figure of its own beside those that a frame names in passing, and goes back to
// none of these.
func (t *Tables) complete(words []term, f frame) bool {
	folded := texts(words)
	named, asked := false, false
	for i := 0; i < len(words); {
		list := t.pieces(words, folded, i)
		switch {
		case !named && refersBack(folded[i]), oneOf(folded[i], past) && len(f.names) > 0 && !t.timed(words):
			return false
		case len(list) == 0:
			i++
			continue
		}
		named = named || list[0].role == naming
		asked = asked || list[0].role == ofField || list[0].role == rising || list[0].role == falling
		i = list[0].to
	}
	return named && (asked || !f.fields)
}

// whole reports whether a question has all that it needs: a thing and what is asked of it, and a time where it is of one. What goes before
// it may then be of anything, in any words.
func (t *Tables) whole(words []term, f frame) bool {
	folded := texts(words)
	if len(f.venues) > 0 || len(f.names) > 0 && f.placed || f.negated && (len(f.names) > 0 || f.kinds || f.fields) {
		return false
	}
	named, asked, timed, moves, figured := false, false, false, false, false
	begins := !words[0].stop
	for i := 0; i < len(words); {
		w := folded[i]
		begins = begins || i < maxOpening && (oneOf(w, openers) || oneOf(w, asksOf))
		list := t.pieces(words, folded, i)
		if len(list) > 0 && list[0].role == timing {
			timed = timed || !list[0].when.Loose
			i = list[0].to
			continue
		}
		relative := w == "that" && figured // the price that litecoin has
		figured = false
		back := thatTime(folded, i) || w == "then"
		if f.timed && back || !named && refersBack(w) && !relative || !back && oneOf(w, goingBack) || oneOf(w, likely) {
			return false
		}
		moves = moves || oneOf(w, past) || oneOf(w, shifting)
		if len(list) == 0 {
			i++
			continue
		}
		switch list[0].role {
		case naming:
			rate := strings.HasSuffix(list[0].text, " per dollar")
			named, asked, begins = true, asked || rate, begins || rate
		case ofField:
			asked, figured = true, true
		case rising, falling:
			asked, moves = true, true
		case flagging, happening:
			asked = true
		case ofKind:
			asked, figured = asked || !f.kinds, true
		}
		i = list[0].to
	}
	return begins && named && (asked || !f.fields && !f.kinds && !f.ordered) && (timed || !f.timed || !moves)
}

// thatTime reports whether the words from i on are of a time that was named before.
func thatTime(folded []string, i int) bool {
	return oneOf(folded[i], "|that|this|those|these|") &&
		oneOf(at(folded, i+1), "|day|days|time|times|moment|hour|hours|week|weeks|month|date|year|point|span|")
}

// declares reports whether words tell something: somebody does it, and nothing is asked, supposed or left out.
func declares(folded []string) bool {
	told := slices.ContainsFunc(folded, func(w string) bool { return oneOf(w, tellers) || oneOf(w, telling) })
	other := func(w string) bool { return oneOf(w, leavingOut) || oneOf(w, "|what|whats|which|how|hows|who|whos|") }
	return told && !supposes(folded) && !slices.ContainsFunc(folded, other)
}

// cased reports whether somebody writes names with a capital: then a word without one is none.
func cased(words []term) bool {
	if len(words) == 0 {
		return false
	}
	first := words[0].raw
	return first != "" && strings.ToLower(first[:1]) != first[:1] && slices.ContainsFunc(words, func(w term) bool {
		return strings.ToUpper(w.raw) != w.raw
	})
}

// open reports whether a question names nothing itself, but for a kind that goes back to the one thing that a frame names.
func (t *Tables) open(words []term, f frame) bool {
	folded := texts(words)
	back := slices.ContainsFunc(folded, func(w string) bool { return oneOf(w, "|it|its|they|their|") }) || len(f.venues) > 0
	asked, timed := false, t.timed(words)
	for i, taken := 0, 0; i < len(words); i++ {
		if f.timed && (thatTime(folded, i) || !timed && (oneOf(folded[i], shifting) || oneOf(folded[i], goingBack))) {
			return false
		}
		then := oneOf(folded[i], past) && !timed && !slices.Contains(folded, "last")
		if f.fields && folded[i] == "them" || oneOf(folded[i], likely) || then {
			return false
		}
		list := t.pieces(words, folded, i)
		if i < taken {
			continue
		}
		if len(list) > 0 && list[0].role == ofField && list[0].to > i+1 { // market cap, which is of no market
			asked, taken = true, list[0].to
			continue
		}
		venue := slices.ContainsFunc(list, ofVenue)
		for _, p := range list {
			switch p.role {
			case naming:
				if !venue || !back {
					return false
				}
			case ofKind:
				if len(f.venues) > 0 && slices.ContainsFunc(list, func(o piece) bool { return o.role == ofField && o.to == p.to }) {
					continue
				}
				if p.order != nil || p.text != singular(p.text) || !oneOf(at(folded, i-1), "|one|a|that|this|each|single|whole|entire|1|") {
					return false
				}
			case valued:
				if !back {
					return false
				}
			case ofField, rising, falling:
				asked = true
			case timing:
				asked = asked || back && p.when.Span > 0
			}
		}
	}
	return asked || !f.fields && !f.ordered && !f.kinds
}

// timed reports whether words name a time.
func (t *Tables) timed(words []term) bool {
	folded := texts(words)
	for i := range words {
		if slices.ContainsFunc(t.pieces(words, folded, i), func(p piece) bool { return p.role == timing }) {
			return true
		}
	}
	return false
}

// preamble is where the question begins behind words that say who asks, and why, and of which fits says that they may be left out; 0 where
// there are none. names are what they name.
func (t *Tables) preamble(words []term, folded []string, pieces func(i int) []piece, loose bool,
	fits func(f frame, i int) bool,
) (from int, names []piece) {
	for i := min(len(words)-1, maxFrame); i > 0; i-- {
		if asks(words, folded, i) && (loose && parts(words, folded, i) && declares(folded[:i]) || !loose && personal(folded[:i])) {
			to := i
			if oneOf(strings.Join(folded[max(0, i-2):i], " "), leading) {
				to-- // quote, which is a field too
			}
			if f, ok := t.mute(words, folded, pieces, 0, to, loose); ok && fits(f, i) {
				return i, f.names
			}
		}
	}
	return 0, nil
}

// reason is where what stands behind the question begins that says why it is asked.
func (t *Tables) reason(words []term, folded []string, pieces func(i int) []piece, from int) int {
	for i := max(from+1, len(words)-maxFrame); i < len(words); i++ {
		if reasons(words, folded, i) {
			f, ok := t.mute(words, folded, pieces, i, len(words), false)
			if ok && len(f.names) == 0 && !f.kinds && !f.fields {
				return i
			}
		}
	}
	return len(words)
}

// maxOpening is how many words stand before the one with which a question begins.
const maxOpening = 3

// maxFrame is how many words stand around a question at most, on either side.
const maxFrame = 30

// oneOf reports whether w is one of a list whose words stand between bars.
func oneOf(w, list string) bool { return w != "" && strings.Contains(list, "|"+w+"|") }

// asks reports whether a question begins with the word i, behind words that lead to it.
func asks(words []term, folded []string, i int) bool {
	return words[i].stop || oneOf(strings.Join(folded[max(0, i-2):i], " "), leading) || oneOf(folded[i], openers)
}

// parts reports whether what stands before the word i is a sentence of its own: a question may have the word with which one begins in its
// midst, where somebody asks that something costs how much.
func parts(words []term, folded []string, i int) bool {
	return words[i].stop || oneOf(at(folded, i-1), "|and|so|but|know|ask|say|see|learn|wonder|wondering|tell|told|") ||
		oneOf(strings.Join(folded[max(0, i-2):i], " "), leading)
}

// personal reports whether words speak of somebody.
func personal(folded []string) bool {
	return slices.ContainsFunc(folded[:min(len(folded), 6)], func(w string) bool { return oneOf(w, somebody) })
}

// reasons reports whether a reason, or a sentence that only goes along, begins with the word i.
func reasons(words []term, folded []string, i int) bool {
	next := at(folded, i+1)
	switch w := folded[i]; w {
	case "because", "cause", "cuz", "coz":
		return true
	case "since", "as", "so", "and", "but", "while":
		moment := oneOf(at(folded, i+2), "|moment|time|point|day|hour|minute|date|week|month|")
		return oneOf(next, somebody) || next == "that" && !moment
	case "for":
		return oneOf(next, "|my|our|a|an|the|his|her|their|")
	case "in":
		return next == "case" || next == "order"
	default:
		return words[i].stop && (oneOf(w, somebody) || oneOf(w, "|it|its|this|thats|that|just|sorry|any|there|take|thanks|"))
	}
}

// mute reports whether words from a place to another say nothing that rows could say, and no scope, and what they speak of. loose lets
// them be of figures and times, which f then notes.
func (t *Tables) mute(words []term, folded []string, pieces func(i int) []piece, from, to int, loose bool) (f frame, ok bool) {
	busy := loose && !slices.Contains(folded[from:to], "than") // rather busy
	if slices.ContainsFunc(folded[from:to], func(w string) bool { return oneOf(w, scoping) && !(busy && w == "rather") }) {
		return f, false
	}
	story := to < len(words) && slices.ContainsFunc(folded[from:to], func(w string) bool { return oneOf(w, tellers) }) &&
		!supposes(folded[from:to])
	asked, wanted, named := false, false, loose && cased(words)
	figures := func(p piece) bool { return p.role == ofField || p.role == rising || p.role == falling }
	about := func(p piece) bool { return p.role >= ofKind && p.role <= valued || figures(p) }
	for i := from; i < to; i++ {
		asked = asked || oneOf(folded[i], openers)
		wanted = wanted || oneOf(folded[i], wanting) || folded[i] == "like" && oneOf(at(folded, i-1), "|would|id|")
		list := pieces(i)
		if beyond := func(p piece) bool { return p.to > to }; slices.ContainsFunc(list, beyond) {
			list = slices.DeleteFunc(slices.Clone(list), beyond)
		}
		if asked && slices.ContainsFunc(list, about) || wanted && slices.ContainsFunc(list, figures) { // that is a question itself
			return f, false
		}
		known := len(list) > 0 || oneOf(folded[i], narrated)
		_, counted := figure(folded[i])
		f.ordered = f.ordered || counted
		scope := !known && governed(words[from:i], words[i], story, named)
		if counted && !loose || scope || len(list) > 0 && !f.add(list, folded, story, loose) {
			return f, false
		}
		if len(list) > 0 {
			i = list[0].to - 1
		}
	}
	return f, true
}

// supposes reports whether words are of what is not so, or leave something out.
func supposes(folded []string) bool {
	for i, w := range folded {
		only := oneOf(w, "|only|just|solely|exclusively|") && !oneOf(at(folded, i+1), "|need|needed|want|wanted|a|one|the|started|")
		if only || oneOf(w, supposing) {
			return true
		}
	}
	return false
}

// add notes the first of some pieces. It is not ok where that may say what the question is of. In a story, kinds, figures and things are
// named in passing.
func (f *frame) add(list []piece, folded []string, story, loose bool) (ok bool) {
	switch p := list[0]; p.role {
	case grammar, doing, describing, unknown:
	case joining:
		f.joined = f.joined || len(f.names) > 0 && f.names[len(f.names)-1].to == p.from && !oneOf(at(folded, p.to), goingOn)
	case negating:
		f.negated = true
	case timing: // today, which is what is asked about anyhow
		f.timed = f.timed || !p.when.Loose
		before := p.from - 1
		for oneOf(at(folded, before), articles) {
			before--
		}
		moment := p.when.Span == 0
		scope := before < 1 || moment && at(folded, before) == "for" || // on Monday I need
			oneOf(at(folded, before), "|of|about|as|per|during|regarding|through|after|before|until|till|by|shows|")
		return loose && !scope || p.when.Loose
	case most, least, summing, figuring, spanning, comparing, everTime, every:
		f.ordered = true
		return loose
	case above, below:
		f.ordered = true
		_, counted := figure(at(folded, p.to))
		return loose && !counted
	case naming:
		if loose && slices.ContainsFunc(list, ofVenue) {
			f.venues = append(f.venues, p)
			return true
		}
		same := func(n piece) bool { return n.text == p.text }
		if !slices.ContainsFunc(f.names, same) {
			f.names = append(f.names, p)
		}
		f.joined = f.joined || oneOf(at(folded, p.from-1), "|and|or|versus|vs|than|")
		before := p.from - 1
		for oneOf(at(folded, before), articles) {
			before--
		}
		on := at(folded, before) == "on" && oneOf(at(folded, before-1), topics)
		f.placed = f.placed || !on && oneOf(at(folded, before), "|at|on|in|via|within|inside|from|with|")
		return !slices.ContainsFunc(list, ofVenue)
	case valued:
		if loose && ofVenue(p) {
			f.venues = append(f.venues, p)
			return true
		}
		f.kinds = true
		return story && p.order == nil && !ofVenue(p)
	case ofKind:
		f.kinds = true
		return story && p.order == nil && !ofVenue(p)
	case ofField, rising, falling:
		f.fields = true
		return story
	default:
		return false
	}
	return true
}

// ofVenue reports whether p may say at what venue something is.
func ofVenue(p piece) bool {
	return slices.ContainsFunc(p.values, func(v value) bool { return v.field == "venue" || v.field == "publisher" })
}

// governed reports whether a word that is not known stands behind a preposition, so that it may be a scope: in Germany. In a story that
// is none where the word has an article: on the radio. named says that names have a capital: a word without one is no scope.
func governed(before []term, word term, story, named bool) bool {
	article := false
	if n := len(before); n > 1 && before[n-1].text == "to" && oneOf(before[n-2].text, headed) {
		return false
	}
	if lower := strings.ToLower(word.raw) == word.raw; named && lower {
		last := at(texts(before), len(before)-1)
		return oneOf(last, "|per|under|via|than|like|without|against|versus|into|") || last == "in" && !oneOf(word.text, within)
	}
	for _, w := range slices.Backward(before) {
		switch {
		case oneOf(w.text, "|in|at|on|of|for|to|with|from|about|into|") && article && story && strings.ToLower(word.raw) == word.raw:
			return false
		case oneOf(w.text, "|in|at|on|of|from|with|per|under|via|than|like|for|without|against|versus|inside|within|to|into|through|by|"):
			return true
		case !oneOf(w.text, articles) && !oneOf(w.text, "|new|big|small|local|old|own|"):
			return false
		}
		article = article || oneOf(w.text, "|a|an|the|my|our|his|her|their|")
	}
	return false
}

const (
	// leading are two words behind which a question stands.
	leading = "|to know|to quote|to cite|to see|to learn|find out|tell me|i need|we need|me know|to ask|i want|we want|give me|show me|" +
		"remind me|would like|id like|would appreciate|id appreciate|appreciate knowing|only need|to say|to state|i require|we require|" +
		"check for|me check|look up|look for|wonder about|curious about|know about|to hear|to have|to get|"
	// tellers are words for whom a story is about, and supposing those of one that is not so.
	tellers   = "|i|we|me|us|my|our|im|ive|id|weve|he|she|hes|shes|they|theyre|someone|somebody|everyone|everybody|people|"
	supposing = "|if|suppose|supposing|imagine|imagining|assume|assuming|unless|until|once|hypothetically|pretend|provided|" +
		"excluding|exclude|except|without|besides|"
	// telling are words of what was told, beside those for somebody, and leavingOut those by which something is not asked for.
	telling    = "|is|are|was|were|has|have|had|been|keeps|says|said|claims|swears|glad|enough|back|hmm|wait|"
	leavingOut = "|leave|leaving|left|skip|skipping|ignore|ignoring|forget|drop|omit|aside|other|others|else|bar|barring|not|apart|" +
		"mine|ones|version|variant|spans|"
	// goingBack are words by which a question is of what was said before it.
	goingBack = "|there|then|same|both|latter|former|other|others|else|instead|"
	// asksOf are words with which a question begins, beside the openers.
	// within are words behind in that are no currency and no unit.
	within = "|cash|bed|town|person|time|line|advance|theory|practice|touch|love|law|doubt|charge|peace|private|public|"
	// goingOn are words with which somebody goes on to speak of himself.
	goingOn = "|i|id|im|we|my|our|he|she|they|wish|want|need|would|must|should|wonder|am|was|were|have|had|so|now|then|before|because|"
	// headed are words before to and where somebody goes.
	headed = "|fly|flying|flew|travel|travelling|traveling|move|moving|moved|go|going|went|head|heading|drive|driving|trip|flight|" +
		"retire|retiring|off|back|ticket|tickets|relocate|relocating|emigrate|"
	// shifting are words for how something changed over a time.
	shifting = "|change|changed|changes|changing|moved|move|moving|moves|done|doing|fared|fare|come|gone|performed|up|down|gained|lost|" +
		"fallen|risen|rose|fell|"
	asksOf   = "|if|whether|is|are|was|were|does|do|did|has|have|by|tell|at|"
	wanting  = "|need|needs|want|wants|wonder|wonders|wondering|know|see|learn|check|interested|curious|"
	articles = "|a|an|the|my|our|his|her|their|your|this|that|some|any|"
	// past are words by which a question is of a time, which a story may have named, and likely those of one about what a story claims.
	past   = "|was|were|did|had|back|"
	likely = "|odds|likelihood|likely|chance|chances|probability|probabilities|bet|bets|betting|"
	// openers are words with which one begins.
	openers = "|what|whats|how|hows|which|when|whens|where|wheres|please|give|show|list|tell|can|could|would|"
	// somebody are words for people.
	somebody = "|i|we|my|our|im|ive|id|weve|hes|shes|theyre|someone|somebody|everyone|everybody|people|he|she|they|me|us|you|your|"
	// topics are words for what is on something, as its subject.
	topics = "|note|notes|presentation|presentations|article|articles|essay|piece|post|blog|slide|slides|report|reports|paper|newsletter|" +
		"lecture|talk|thesis|video|podcast|book|chapter|bit|section|column|memo|homework|assignment|reading|writing|keen|eye|opinion|" +
		"views|bet|bets|arguing|focus|quiz|"
	// scoping are words for money, places and markets that no frame passes over: what is asked may be of them.
	scoping = "|euro|euros|eur|pound|pounds|sterling|gbp|yen|jpy|franc|francs|chf|yuan|rmb|cny|rupee|rupees|inr|real|reais|peso|pesos|" +
		"zloty|krona|kronor|kroner|krone|koruna|forint|baht|rand|ringgit|rupiah|dirham|dirhams|riyal|shekel|shekels|naira|hryvnia|" +
		"won|lira|ruble|rubles|ounce|ounces|gold|silver|oil|germany|german|france|french|europe|european|eurozone|eu|uk|britain|" +
		"british|england|japan|japanese|china|chinese|india|indian|canada|canadian|australia|australian|mexico|brazil|russia|korea|" +
		"africa|asia|swiss|switzerland|italy|italian|spain|spanish|turkey|nasdaq|nyse|testnet|spot|futures|perps|perpetuals|options|" +
		"means|meaning|batch|batched|cached|cache|caching|azure|bedrock|vertex|airdrop|presale|" +
		"margin|leverage|quarter|quarterly|fiscal|covers|covering|" +
		"adjusted|seasonally|annualized|annualised|nominal|gross|net|mean|meant|instead|rather|"
	// narrated are words for what people do all day, for whom and why.
	narrated = "|report|reports|reporting|presentation|presentations|newsletter|newsletters|note|notes|memo|memos|article|articles|essay|" +
		"homework|assignment|class|classes|course|lesson|lecture|school|university|college|thesis|exam|blog|post|posts|podcast|video|" +
		"slide|slides|deck|meeting|meetings|call|calls|client|clients|customer|customers|boss|manager|supervisor|team|teams|friend|" +
		"friends|wife|husband|mother|father|mum|mom|dad|parents|brother|sister|son|daughter|uncle|aunt|cousin|nephew|niece|neighbour|" +
		"neighbours|neighbor|neighbors|grandma|grandmother|grandpa|grandfather|kid|kids|family|roommate|flatmate|partner|girlfriend|" +
		"boyfriend|fiance|office|desk|work|project|analysis|study|studies|book|budget|budgeting|plan|plans|planning|spreadsheet|" +
		"sheet|dashboard|file|files|record|records|journal|diary|tax|taxes|audit|compliance|accountant|accounting|lawyer|committee|" +
		"company|firm|startup|trip|holiday|vacation|travel|quiz|argument|conversation|chat|lunch|dinner|breakfast|coffee|morning|" +
		"evening|newspaper|column|editor|reader|readers|audience|student|students|teacher|professor|pupils|app|bot|script|tool|tools|" +
		"curiosity|purpose|purposes|reference|sake|context|documentation|paperwork|colleague|colleagues|coworker|coworkers|mate|mates|" +
		"phone|laptop|computer|bus|train|pub|gym|club|party|wedding|birthday|life|house|home|car|kitchen|bed|mind|head|opinion|" +
		"pocket|purse|wallet|drawer|account|savings|cupboard|"
)
