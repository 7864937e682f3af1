package state

import (
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// role is what a word of a question does in it.
type role uint8

const (
	unknown  role = iota
	grammar       // carries no meaning
	joining       // stands between things that are asked for alike
	negating      // takes something out
	most          // of an order
	least
	rising // which way a figure goes
	falling
	summing // asks for one figure of all
	counting
	averaging
	happening // asks for all that is out of the ordinary with a thing
	flagging  // asks for what is out of the ordinary
	unkept    // a figure that people ask for and that no pack has under this word
	top       // the first ones of an order
	expensive // the order of a price
	cheap
	above // compares with a figure
	below
	ranking // asks by rank

	timing   // a span or a moment
	ofKind   // asks for rows of a kind
	ofField  // asks for a field
	naming   // a name
	valued   // is a text of rows: a venue, a group
	figuring // a number

	describing // says of what is asked what is true of all of it: tracked, recorded
	comparing  // asks how things differ: more, stronger, the difference between
	every      // all of a kind that stands behind it
	spanning   // a span that a number before it counts
	doing      // what somebody does with a thing, which asks for no figure of it; beside a figure, a kind or an order it says nothing
	everTime   // over all time, which a list of what happened has, and no figure of now
)

// vocabulary is what words mean in every pack, by phrases of folded words. What a pack's own words mean comes beside it.
func vocabulary() map[string]role {
	all := make(map[string]role)
	for r, phrases := range map[role]string{
		grammar: grammarWords,
		joining: "and, or, vs, versus, v, as well as, plus, along with, together with, compared to, compared with, against, then, " +
			"next to, alongside, beside",
		negating: "not, no, non, without, except, excluding, exclude, but not, but no, leave out, leaving out, ignoring, leave aside, " +
			"leaving aside, not counting, not including, setting aside, other than, ex, minus, never, isnt, arent, dont, doesnt, " +
			"wasnt, neither, nor, none, outside, apart from, aside from, besides, everything but, " +
			"but skip, skip, skipping",
		most: "most, the most, most positive, the most positive, " +
			"highest, largest, biggest, greatest, maximum, max, furthest above, strongest, richest, " +
			"farthest above, heaviest, hardest, " +
			"furthest, farthest",
		least: "least, the least, most negative, the most negative, " +
			"lowest, smallest, fewest, minimum, min, weakest, furthest below, farthest below, tiniest, ascending, in ascending order",
		rising: "up, rise, rises, rose, rising, risen, gain, gains, gained, gaining, growth, ripping, climbed, climbing, rallied, " +
			"rallying, pumped, " +
			"pumping, " +
			"jumped, soared, surged, grew, grown, growing, increase, increased, higher, green, advancing, advanced, in the green, " +
			"going up, positive, ripped, mooned, mooning, spiked, spiking, popped, jumping, soaring, surging, climbing, climbs, " +
			"went up, gone up, shot up, moved up, jump, jumps, leapt, leaped, ran up, run up, rocketed, " +
			"gainer, gainers, winner, winners, riser, risers",
		falling: "down, fall, falls, fell, falling, fallen, lose, lost, losing, dropped, dropping, drop, declined, declining, " +
			"dumped, dumping, " +
			"crashed, crashing, sank, slid, plunged, decrease, decreased, lower, red, in the red, going down, negative, tanked, tanking, " +
			"nuked, wrecked, rekt, bled, bleeding, slumped, slumping, tumbled, tumbling, plummeted, plummeting, cratered, dipped, " +
			"sinking, sliding, plunging, hit hard, hit so hard, get hit, got hit, get hit hard, got hit hard, get hit so hard, " +
			"got hit so hard, " +
			"went down, gone down, came down, moved down, sold off, smoked, got smoked, hammered, " +
			"loser, losers, bleeder, bleeders, decliner, decliners, faller, fallers",
		summing: "added together, added up, put together, total, totals, sum, sum of, combined, overall, " +
			"altogether, in total, entire, whole, aggregate, agg, " +
			"all together, taken together, in all, in sum",
		counting:  "how many, number of, count, count of, the number of",
		averaging: "average, avg, mean, on average",
		happening: "what happened to, what happened with, what has happened to, what s happening with, whats happening with, " +
			"what is happening with, " +
			"what is going on with, what s going on with, whats going on with, what s up with, whats up with, what s new with, why, " +
			"how come, " +
			"what happened, what is happening to, what s happening to, what happened on, what went wrong at, " +
			"what went wrong with, what s going on at, what is going on at, whats going on at, what s going on over at, " +
			"what is going on over at, whats going on over at, what s happening at, what is happening at, whats happening at, " +
			"what s happening over at, whats happening over at, what happened at, what happened over at, what s up at, " +
			"anything on, anything about, anything new on, anything new about, " +
			"what explains, what is behind, what s behind, whats behind, what drove, what is driving, what s driving, whats driving, " +
			"reason for, the reason for, reason behind, the reason behind, " +
			"what is new with, whats new with, whats new, what s new, what is new, what is known about, what about the situation of",
		flagging: "alarms going off, alerts going off, alarm going off, alert going off, open alerts, " +
			"alerts open, critical alerts open, open flags, flags open, critical flags open, " +
			"open warnings, warnings open, " +
			"critical flag, critical flags, critical alert, critical alerts, critical warning, critical warnings, " +
			"flag, flags, warning, warnings, alert, alerts, alarm, alarms, anomaly, anomalies, anything unusual, " +
			"out of the ordinary, " +
			"anything wrong, something wrong, red flags, risks flagged, trouble with, any trouble with, any problems with, " +
			"problems with, problem with, what is wrong with, " +
			"what wrong with, trouble, problems, signs of trouble, alarming, anything to worry about, " +
			"alerts raised, alerts were raised, flags raised, flags were raised, warnings raised, warnings were raised, signs, " +
			"signs of, any signs of, sign of, be warned about, warned about, be warned of, " +
			"depegs, fee spikes, gas spikes, tvl drops, price moves, suspicious names, stale sources, failing sources, sources failing",
		describing: "tracked, you track, you cover, you watch, you list, recorded, monitored, covered, logged, registered, held, " +
			"received, fit, fit into, fits into",
		comparing: "more, less, better, worse, cheaper, dearer, pricier, more expensive, less expensive, stronger, weaker, " +
			"relative, relative size, relative size of, relative sizes of, difference, " +
			"the difference, difference between, the difference between, gap between, differ, differs, bigger, larger, smaller, " +
			"above or below, below or above, higher or lower, above that of, below that of, higher than that of, lower than that of, " +
			"greater than that of, more than that of, less than that of",
		doing: "made, make, makes, making, take, takes, taking, taken, took, put, puts, keep, keeps, kept, come, " +
			"comes, came, coming, think, thinks, thinking, thought, believe, guess, suppose, hear, heard, " +
			"hearing, learn, learning, say, says, said, saying, mention, publish, publishes, publishing, " +
			"happen, happens, went, go, goes, gone, " +
			"gonna, going, read, reading, write, writing, how deep, how far, how fast, how strong, how high, " +
			"how low",
		every:    "every",
		everTime: "ever, ever recorded, of all time, in history, on record",
		unkept: "median, " +
			"ath, atl, all time high, all time low, all time highs, all time lows, apy, apr, yield, yields, holders, holder, fdv, " +
			"fully diluted valuation, rsi, macd, moving average, prediction target, target, forecast, hash rate, hashrate, " +
			"difficulty, halving, " +
			"circulating supply, max supply, maximum supply, total supply, supply, funding, funding rate, open interest, " +
			"liquidations, inflows, " +
			"outflows, etf flows, flows, market share, support, resistance, volatility, sharpe, beta, correlation, dividend, " +
			"earnings, revenue, " +
			"fees paid, how big, how large, active users, users, addresses, founder, ceo, whitepaper, website, contract, " +
			"address, 52 week high, " +
			"52 week low, high, low, " +
			"p e, high of the day, low of the day, opening price, closing price, open price, bid, ask, spread, order book, staked, " +
			"staking rewards",
		top: "top, first, leading, tops, in order of, ordered by, sorted by, ranked by, in descending order, in descending order of, " +
			"descending",
		expensive: "most expensive, priciest, dearest, highest priced, costliest",
		cheap:     "cheapest, least expensive, lowest priced, most affordable",
		above: "harder than, by more than, north of, in excess of, above, over, more than, greater than, " +
			"higher than, at least, exceeding, bigger than, larger than, trade above, " +
			"trades above, trading above",
		below: "south of, by less than, below, under, less than, lower than, at most, smaller than, fewer than, " +
			"trade below, trades below, trading below",
		ranking: "rank, ranked, ranks, number, position, place, ranking",
	} {
		for p := range strings.SplitSeq(phrases, ",") {
			if p = strings.ReplaceAll(strings.TrimSpace(p), " s ", " "); p != "" { // what's is read as what
				if _, taken := all[p]; !taken || r > all[p] {
					all[p] = r
				}
			}
		}
	}
	return all
}

// grammarWords carry no meaning in a question: articles, forms of to be, to have and to do, prepositions, pronouns, words of politeness and
// of conversation, and words for the present, which is what is asked about where no other time is named. A word that could ask for another
// figure, time, order or comparison is none of them, however often people say it for nothing.
const grammarWords = "" +
	"a, an, the, what, whats, which, who, whos, whose, whom, s, is, are, was, were, be, been, being, am, of, for, at, in, " +
	"on, to, me, my, mine, myself, we, us, our, ours, you, your, yours, i, im, ive, ill, id, hes, shes, theyre, youre, " +
	"weve, thats, theres, heres, lets, show, shows, shown, showing, tell, tells, telling, told, give, gives, given, " +
	"giving, get, gets, got, getting, gimme, gotta, find, finds, finding, found, find out, check, checking, look, looks, " +
	"looking, look up, lookup, fetch, list, lists, listed, print, display, report, reports, reported, how, hows, how well, " +
	"how come, much, now, right now, current, currently, latest, last, right, does, do, has, have, had, having, its, it, " +
	"please, pls, plz, about, by, with, from, any, some, there, here, live, newest, recent, most recent, the most recent, " +
	"recently, lately, where, wheres, when, whens, that, this, these, those, can, could, would, may, might, must, want, " +
	"wants, wanted, need, needs, needed, know, knows, knew, like, hi, hello, hey, yo, thanks, thank, thank you, thx, " +
	"cheers, kindly, quick, quickly, just, only, ok, okay, alright, all right, so, um, uh, then, exactly, exact, precise, " +
	"precisely, roughly, approximately, doing, did, done, wanna, see, sees, seen, seeing, saw, as, into, moment, " +
	"at the moment, at this moment, at present, presently, still, really, actually, also, too, even, if, stand, stands, " +
	"standing, stood, sitting, sit, sits, of the, one, ones, thing, things, information, info, data, figure, figures, " +
	"details, detail, value of, q, question, questions, and what about, what about, how about, in usd, in dollars, " +
	"in us dollars, in us dollar, in dollar, to usd, to dollars, usd, dollars, each, mate, dude, bro, sir, friend, buddy, " +
	"man, guys, folks, pal, boss, brother, sister, colleague, colleagues, someone, somebody, anyone, anybody, everybody, " +
	"people, person, they, he, she, them, their, him, her, his, wondering, wonder, wondered, curious, interested, trying, " +
	"try, figure out, out, real quick, real time, up to date, updated, as of now, as of today, todays, all, everything, " +
	"anything, something, been doing, has been, have been, holding at, there any, yes, yeah, yep, well, hmm, oh, ah, hm, " +
	"i want to know, compare, compared, comparing, comparison, comparison of, between, do you know, could you tell me, " +
	"can you tell me, crypto, ask, asks, asking, asked, answer, assume, assuming, hope, hoping, help, helps, helping, " +
	"love, lovely, great, nice, good, kind, mind, minding, sure, surely, possible, possibly, maybe, perhaps, able, very, " +
	"very much, quite, rather, pretty, fairly, bit, a bit, little, a little, again, around, over there, over at, upon, " +
	"via, through, toward, towards, inside, while, because, though, although, however, anyway, hence, thus, stuff, way, " +
	"ways, sort, sort of, kind of, type of, want to know, let, keen, happen to, provide, pull, pull up, grab, got to, " +
	"serious, seriously, honest, honestly, basically, simply, such, both, either, whether, whatever, whichever, us all, " +
	"dear, morning all, good morning, good evening, good day, big, level, levels, after all, amount, percent, percentage, " +
	"pct, percents, percentage points, follow, following, known, called, named, regarding, concerning, lot, a lot, " +
	"couldnt, wouldnt, cant, of mine, new, today is, according, given that, being so, thanks a lot, much appreciated, " +
	"appreciated, grateful, sorry, excuse, pardon, welcome, bye, rn, atm, asap, fyi, btw, lol, haha, tbh, imo, idk, u, ur, " +
	"r, n, plus what, exchange rate of, number for, numbers, the number, sits at, order to, in order to, " +
	"together with that, situation, how many percent, by how many percent, by how much, by, single, a single, " +
	"nothing else, and nothing else, nothing more, and nothing more, that is all, expressed as, expressed in, expressed, " +
	"in terms of, in terms of value, in percentage terms, as a percentage, in number, in numbers, as a number, i bought, " +
	"i have bought, we bought, i sold, i have sold, i own, we own, i hold, we hold, i wanted, if i wanted, " +
	"assuming i wanted, i used, if i used, if i use, if i were to use, i cant decide between, i cannot decide between, " +
	"i am deciding between, im deciding between, i am torn between, im torn between, i torn between, i deciding between, " +
	"i have a loan, my loan, i have a mortgage, my mortgage, my portfolio, my wallet, my savings, tied to, linked to, " +
	"indexed to, would like, should i expect, should i expect to pay, should i expect to see, i should expect, ought to, " +
	"i ought to, we ought to, as it should, as they should, the company, vs dollar, vs the dollar, vs usd, " +
	"versus the dollar, against the dollar, against dollar, in us dollars, very next, frm, teh, keeps asking, keep asking, " +
	"get a transaction into, to get a transaction into, running at, going for, goes for, go for, going at, " +
	"how high is, how high are, how low is, how low are, these days, mainnet, present, exist, exists, last traded, " +
	"not too much trouble, if i may ask, if i may, " +
	"if you dont mind, if you do not mind, thank you very much, thanks very much, many thanks, will you, would you, " +
	"remember, to remember, measured by, among all, among all of, out of all, of all the, how many dollar, how many dollars, " +
	"how many cost, how many costs, how many usd, " +
	"rigth, rihgt, curent, currnet, curently, currenty, waht, whta, hte, " +
	"the united states, united states, the states, usa, on offer, in bucks, bucks, wich, among, amongst, across all exchanges, " +
	"across exchanges, across, but, in advance, my calendar, in dollar terms, nowadays, i think, i guess, i hear, i heard, " +
	"going on, say i, let us say"

// refersBack reports whether a word speaks of something that was named before the question.
func refersBack(w string) bool {
	switch w {
	case "it", "its", "they", "them", "their", "he", "she", "him", "her", "his", "that", "this", "those", "these":
		return true
	}
	return false
}

// flagOf is the kind of flags that words ask for, "" for all.
func flagOf(phrase string) string {
	switch phrase {
	case "depegs":
		return api.FlagDepeg
	case "fee spikes":
		return api.FlagFeeSpike
	case "gas spikes":
		return api.FlagGasSpike
	case "tvl drops":
		return api.FlagTVLDrop
	case "price moves":
		return api.FlagPriceMove
	case "suspicious names":
		return api.FlagSuspiciousName
	case "stale sources":
		return api.FlagSourceStale
	case "failing sources", "sources failing":
		return api.FlagSourceError
	case "ending sources", "sources ending":
		return api.FlagSourceEnding
	}
	return ""
}
