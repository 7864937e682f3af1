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
			"next to, alongside, beside, than",
		negating: "not, no, non, without, except, excluding, exclude, but not, but no, leave out, leaving out, ignoring, leave aside, " +
			"leaving aside, not counting, not including, barring, save for, except for, setting aside, other than, ex, minus, never, " +
			"isnt, arent, dont, doesnt, " +
			"wasnt, neither, nor, none, outside, apart from, aside from, besides, everything but, " +
			"but skip, skip, skipping",
		most: "most, the most, most positive, the most positive, " +
			"highest, largest, biggest, greatest, maximum, max, furthest above, strongest, richest, " +
			"farthest above, heaviest, hardest, fattest, biggest of all, highest of all, " +
			"furthest, farthest, leads, leads by, leads in",
		least: "least, the least, most negative, the most negative, " +
			"lowest of all, smallest of all, bottom, the bottom, " +
			"thinnest, lowest, smallest, fewest, minimum, min, weakest, furthest below, farthest below, " +
			"tiniest, ascending, in ascending order",
		rising: "up, rise, rises, rose, rising, risen, gain, gains, gained, gaining, growth, ripping, climbed, climbing, rallied, " +
			"rallying, pumped, " +
			"pumping, " +
			"jumped, soared, surged, grew, grown, growing, increase, increased, higher, green, advancing, advanced, in the green, " +
			"expanded, expanding, swelled, advances, strengthened, rallies, jumps, soars, surges, grows, increases, " +
			"increasing, gained ground, gaining ground, gains ground, gained value, gaining value, in positive territory, pop, pops, " +
			"going up, positive, ripped, mooned, mooning, spiked, spiking, popped, jumping, soaring, surging, climbing, climbs, " +
			"went up, gone up, shot up, moved up, jump, jumps, leapt, leaped, ran up, run up, rocketed, " +
			"gainer, gainers, winner, winners, riser, risers, go up, grow, climb, surge, soar, leap, advance, gain ground, strengthen",
		falling: "down, fall, falls, fell, falling, fallen, lose, lost, losing, dropped, dropping, drop, declined, declining, " +
			"dumped, dumping, " +
			"crashed, crashing, sank, slid, plunged, decrease, decreased, lower, red, in the red, going down, negative, tanked, tanking, " +
			"contracted, contracting, shrank, shrunk, shrinking, shrinks, receded, receding, retreated, retreating, slipped, slipping, " +
			"slips, declines, drops, crashes, dumps, plunges, sinks, slides, tumbles, plummets, loses, decreases, weakened, depreciated, " +
			"lost ground, losing ground, loses ground, gave ground, gave up ground, lost value, losing value, in negative territory, " +
			"nuked, wrecked, rekt, bled, bleeding, slumped, slumping, tumbled, tumbling, plummeted, plummeting, cratered, dipped, " +
			"sinking, sliding, plunging, hit hard, hit so hard, get hit, got hit, get hit hard, got hit hard, get hit so hard, " +
			"got hit so hard, " +
			"went down, gone down, came down, moved down, sold off, smoked, got smoked, hammered, go down, decline, shrink, sink, slide, " +
			"slip, tumble, plunge, plummet, weaken, lose ground, dn, shed, sheds, shedding, " +
			"loser, losers, bleeder, bleeders, decliner, decliners, faller, fallers",
		summing: "added together, added up, put together, total, totals, sum, sum of, combined, overall, " +
			"cumulative, collectively, collective, add up, adds up, adding up, all added up, summed, summed up, sum up, grand total, " +
			"in aggregate, tallied, cumulated, accumulated, " +
			"altogether, in total, entire, whole, aggregate, agg, " +
			"all together, taken together, in all, in sum, across all, over all",
		counting: "how many, number of, count, count of, the number of",
		averaging: "average, avg, mean, on average, simple mean, simple average, arithmetic mean, arithmetic average, averaged, " +
			"unweighted mean, unweighted average, plain average",
		happening: "what happened to, what happened with, what has happened to, what s happening with, whats happening with, " +
			"what is happening with, what has been happening with, what else has been happening with, what else is happening with, " +
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
		flagging: "firing, alarm firing, alarms firing, alert firing, alerts firing, flag firing, flags firing, alarm bells, alarm bell, " +
			"warning signal, warning signals, warning sign, warning signs, alert signal, alert signals, active alerts, active warnings, " +
			"active flags, alerts active, warnings active, flags active, live alerts, live warnings, " +
			"alarms going off, alerts going off, alarm going off, alert going off, open alerts, " +
			"alerts open, critical alerts open, open flags, flags open, critical flags open, " +
			"open warnings, warnings open, " +
			"critical flag, critical flags, critical alert, critical alerts, critical warning, critical warnings, " +
			"critical alarm, critical alarms, critical alarms live, critical alerts live, alarms live, alerts live, " +
			"alarm signal, alarm signals, " +
			"flag, flags, warning, warnings, alert, alerts, alarm, alarms, anomaly, anomalies, anything unusual, " +
			"out of the ordinary, " +
			"anything wrong, something wrong, red flags, risks flagged, trouble with, any trouble with, any problems with, " +
			"problems with, problem with, what is wrong with, " +
			"what wrong with, trouble, problems, having issues, having any issues, have any issues, has any issues, " +
			"any issues with, issues with, having problems, have any problems, has any problems, any disruption, any disruptions, " +
			"signs of trouble, alarming, anything to worry about, " +
			"alerts raised, alerts were raised, flags raised, flags were raised, warnings raised, warnings were raised, signs, " +
			"signs of, any signs of, sign of, be warned about, warned about, be warned of, " +
			"stale feeds, feeds stale, feeds failing, failing feeds, sources stale, feeds working, sources working, feeds down, " +
			"sources down, feeds up, sources up, broken feeds, feeds broken, " +
			"depegs, fee spikes, gas spikes, tvl drops, price moves, suspicious names, stale sources, failing sources, sources failing",
		describing: "tracked, you track, you cover, you watch, you list, recorded, monitored, covered, logged, registered, held, " +
			"received, fit, fit into, fits into, accept, accepts, accepting, accepted, handle, handles, handling, allow, allows, permit, " +
			"same, permits, evolved, developed, drew, draw, draws, drawn, drawing, " +
			"outstanding, in the catalogue, in your catalogue, in the catalog, in your catalog, in the table, " +
			"in your table, on the board, on your board, in the dataset, in your dataset, in the database, in your database, " +
			"in your list, on your list",
		comparing: "relative to, in relation to, compared against, set against, measured against, more, less, better, worse, cheaper, " +
			"dearer, pricier, more expensive, less expensive, stronger, weaker, " +
			"relative, relative size, relative size of, relative sizes of, difference, " +
			"the difference, difference between, the difference between, gap between, gap, bps between, basis points between, " +
			"how many bps between, how many basis points between, distance between, bp between, differ, differs, " +
			"bigger, larger, smaller, " +
			"above or below, below or above, higher or lower, above that of, below that of, higher than that of, lower than that of, " +
			"greater than that of, more than that of, less than that of",
		doing: "offers, offering, provides, providing, collect, collects, collected, collecting, gather, gathers, gathered, " +
			"fare, fares, fared, faring, attract, attracts, attracted, carries, carrying, carried, bears, " +
			"boast, boasts, possess, possesses, charge, " +
			"charges, charging, charged, features, appear, appears, remain, remains, lie, lies, " +
			"lying, hang, hangs, hanging, end up, ends up, ended up, wind up, " +
			"carry, offer, post, posts, posted, posting, hold, how hard, how badly, how bad, " +
			"made, make, makes, making, take, takes, taking, taken, took, put, puts, keep, keeps, kept, come, " +
			"comes, came, coming, think, thinks, thinking, thought, believe, guess, suppose, hear, heard, " +
			"hearing, learn, learning, say, says, said, saying, mention, mentions, mentioning, mentioned, discuss, discusses, " +
			"discussing, " +
			"discussed, publish, publishes, publishing, " +
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
			"liquidations, inflows, share, what share, " +
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
	"how many percents, by how many percents, " +
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
	"going on, say i, let us say, " + politeWords + spokenWords

// politeWords are what people say to be polite, and before they ask.
const politeWords = "" +
	"frankly, literally, obviously, clearly, definitely, certainly, absolutely, apparently, supposedly, presumably, essentially, " +
	"specifically, particularly, especially, personally, briefly, promptly, immediately, properly, correctly, carefully, gladly, " +
	"happily, sincerely, truly, indeed, naturally, hopefully, luckily, ideally, preferably, of course, in general, in particular, " +
	"in fact, in short, in brief, for sure, for certain, for real, for once, for now, for me, for us, " +
	"for my own, wish, wishes, wishing, wished, require, requires, requested, requesting, request, appreciate, bother, bothering, " +
	"bothered, disturb, disturbing, remind, reminds, reminding, reminder, clarify, confirm, inform, informing, be informed, " +
	"dig up, dig out, run me through, walk me through, hit me with, hand me, throw me, spit out, shoot me, send me, bring me, bring up, " +
	"spell out, look it up, look that up, look this up, look them up, looking it up, fill me in, fill me in on, catch me up, " +
	"catch me up on, clue me in, enlighten me, point me to, share with me, " +
	"let me have, let me see, let me know, lay out, madam, maam, miss, mister, ladies, gentlemen, lad, lads, chief, champ, fam, " +
	"homie, fella, fellas, bruh, amigo, yall, peeps, howdy, heya, hiya, sup, greetings, good afternoon, good night, ty, tysm, " +
	"thnx, tnx, obliged, much obliged, thank you kindly, regards, kind regards, best regards, be so kind, so kind, so kind as to, " +
	"kind enough, kind enough to, be kind enough to, good enough to, be good enough to, able to, be able to, manage to, care to, " +
	"feel free to, go ahead, go ahead and, do me a favor, do me a favour, a favor, a favour, at your convenience, if possible, " +
	"when you get a chance, when you have a moment, when you have a minute, if you can, if you could, if at all possible, " +
	"if its not too much trouble, if it is no trouble, if its no trouble, if it isnt too much trouble, while youre at it, " +
	"while you are at it, at once, straight away, right away, in a hurry, im in a hurry, for a second, one sec, " +
	"quick question, question for you, got a question, i have a question, simple question, stupid question, dumb question, " +
	"silly question, newbie question, noob question, my question is, one question, no rush, no worries, no problem, never mind, " +
	"not sure, im not sure, i am not sure, i dont know, i do not know, dont know, no idea, i have no idea, no clue, " +
	"according to your data, according to the data, according to your records, according to you, in your data, in your records, " +
	"from your data, based on your data, as far as you know, to your knowledge, on your end, in your system, to be exact, " +
	"to be precise, interested in, interested to know, interested in knowing, curious to know, keen to know, happy to know, " +
	"eager to know, glad to know, grateful to know, love to know, like to know, like to hear, like to see, like to find out, " +
	"like to learn, love to hear, love to learn, happy to learn, happy to hear, keen to learn, keen to hear, curious to learn, " +
	"curious to hear, eager to learn, eager to hear, glad to learn, glad to hear, grateful to learn, grateful to hear, " +
	"grateful to be told, wish to know, wish to learn, wish to see, intend to know, interested to hear, interested to learn, " +
	"be interested, appreciate knowing, appreciate learning, appreciate hearing, appreciate it, mind telling, mind saying, " +
	"mind checking, mind looking up, mind showing, kindly say, kindly state, kindly tell, be told, look back, " +
	"look back to, look back at, " +
	"set out, work out, pin down, single out, pick out, point out, jot down, write down, note down, note, read off, read out, " +
	"identify, identifies, identifying, enumerate, enumerating, itemise, itemize, specify, specifying, state, states both, stating, " +
	"state both, state each, name, name each, name all, name both, naming, compute, computing, calculate, calculating, " +
	"determine, determining, establish, ascertain, retrieve, retrieving, return, returns the, supply me with, furnish, deliver, " +
	"describe, describing, summarise, summarize, summarising, outline, present me with, quote me, cite, citing, contrast, contrasting, " +
	"contrasted, juxtapose, pull out, extract, output a list, advise, advise me, let us know, let us see, " +
	"in the catalogue, in your catalogue, in the catalog, in your catalog, in the dataset, in your dataset, " +
	"in the data set, in the data, " +
	"in your table, in your tables, in the table, in your list, on your list, in the list, on the list, in your books, on your books, " +
	"in your database, in the database, in your records, in the records, in your feed, in your feeds, on your platform, on your site, " +
	"i was hoping, i am hoping, im hoping, was hoping, hoping that, i would be grateful, would be grateful, it would be great, " +
	"it would be nice, it would be helpful, would be helpful, helpful, the number i need is, the figure i need is, what i need is, " +
	"what i want is, what i want to know is, all i want is, all i need is, all i want to know is, "

// spokenWords are what people say while they speak and think.
const spokenWords = "" +
	"wait, hold on, hang on, hold up, or nah, selling for, sells for, " +
	"eh, er, erm, uhm, umm, huh, yknow, you know, you see, listen, so yeah, anyways, anyhow, whatnot, and stuff, or something, " +
	"or so, or whatever, and all that, and so on, kinda, sorta, dunno, lemme, cmon, come on, aight, okey, okie, " +
	"right about now, by now, so far, thus far, as it stands, as things stand, " +
	"as we speak, at this point, at this point in time, at this very moment, at this time, at the present time, " +
	"at the present moment, this very moment, this minute, this second, this instant, right this second, right this minute, " +
	"looking like, look like, looks like, hovering, hovering around, hanging around, clocking in at, coming in at, comes in at, " +
	"works out to, amounts to, amount to, comes to, come to, out there, over here, around here, in there, ballpark, round about, " +
	"more or less, give or take, approx, whatsoever, at all, respectively, so called, known as, better known as, aka, namely, " +
	"that is, that is to say, the thing is, the point is, fact is, turns out, " +
	"it turns out, thing called, the thing called, " +
	"my friend, my mate, my dear, my man, do you happen to know, you happen to know, any idea, any clue, got any idea, " +
	"cool, perfect, super, brilliant, excellent, awesome, wonderful, fantastic, splendid, terrific, understood, noted, gotcha, got it, " +
	"got that, roger, roger that, makes sense, fair enough, good to know, good stuff, fine, ok fine, no no, " +
	"next one, next up, next question, one more, one more thing, one more question, last one, last question, moving on, while at it, " +
	"price wise, along, in america, in the us, both prints, the prints, the print, latest print, latest prints, last print, last prints, " +
	"in your coverage, you have coverage of, by what percent, by what percentage, by what pct, with what percent, " +
	"in which quantity, in what quantity, walk me thru, run me thru, thru, searching, searching for, " +
	"in one go, all in one go, at one go, in one answer, in one line, all at once, side by side, separately, one after the other, " +
	"in that order, strictly, out of curiosity, out of sheer curiosity, out of pure curiosity, out of interest, " +
	"for the record, for reference, for my records, nicely, neatly, please and thank you, do you know, would you know, " +
	"if you know, say it, " +
	"what kind of, what sort of, real fast, super quick, hella, freaking, damn, heck, the heck, " +
	"on earth, in the world, the hell, bloody, actual, very own, as such, per se, of dollar, outta, off the top of your head"

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
	case "stale sources", "sources stale", "stale feeds", "feeds stale":
		return api.FlagSourceStale
	case "failing sources", "sources failing", "failing feeds", "feeds failing", "broken feeds", "feeds broken":
		return api.FlagSourceError
	case "feeds working", "sources working", "feeds up", "sources up", "feeds down", "sources down":
		return api.FlagSourceError + "," + api.FlagSourceStale
	case "ending sources", "sources ending":
		return api.FlagSourceEnding
	}
	return ""
}
