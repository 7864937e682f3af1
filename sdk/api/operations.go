package api

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// The operations: the six of the contract, then later additions.
const (
	OpFresh     Op = "fresh"
	OpBrief     Op = "brief"
	OpSearch    Op = "search"
	OpSnapshot  Op = "snapshot"
	OpSubscribe Op = "subscribe"
	OpCite      Op = "cite"
	OpLookup    Op = "lookup"
	OpChanges   Op = "changes"
	OpSeries    Op = "series"
	OpHistory   Op = "history"
	OpQuery     Op = "query"
	OpCheck     Op = "check"
	OpWatch     Op = "watch" // a day of a watch; it is counted as the others, and has routes of its own: see PathWatches
)

// declaration is how an operation is declared.
type declaration struct {
	op      Op
	declare func() Operation
}

// declarations are those of all operations, in the order in which they are listed.
func declarations() []declaration {
	return []declaration{
		{OpFresh, fresh}, {OpBrief, brief}, {OpSearch, search}, {OpSnapshot, snapshot}, {OpSubscribe, subscribe}, {OpCite, cite},
		{OpLookup, lookup}, {OpChanges, changes}, {OpSeries, series}, {OpHistory, history}, {OpQuery, query},
		{OpCheck, check},
	}
}

// Query is a call of an operation, as Parse reads it. Each parameter of its operation fills one field; the others are zero.
type Query struct {
	Op   Op
	Pack string

	Text    string        // what is looked for: search, words; lookup, questions with commas between; check, a text
	Limit   int           // search: matches; lookup: rows per question; query: rows
	At      Moment        // snapshot, changes since then, and cite, query and check, where it may be zero
	Ref     int           // cite: the ref, counted from 1
	Row     string        // cite: kind/key of the row that is meant, "" for the source
	Path    string        // series: a member or a row; history: a member, or with dots a part of one
	Field   string        // series: the number; "" means the first of the rows
	Points  int           // series
	Span    time.Duration // series; check, how long before its moment a value counts
	From    time.Time     // history
	To      time.Time     // history; zero means now, or as far as a call may reach
	Every   time.Duration // history
	Members string        // of the state that are in the answer, sorted, with commas between; "" means all
	Kinds   string        // of the rows that count, sorted, with commas between; "" means all
	Min     float64       // changes: percent that a row has to move
	Claims  bool          // fresh and brief: with what backs the figures of the brief
	Proof   bool          // subscribe over HTTP: with the leaf that proves each state
	Brief   bool          // subscribe over HTTP: with the newest brief beside each state

	Table    string // from here on of query
	Where    string // conditions, sorted, a line each
	Fields   string // with commas between; "" means all
	Order    string
	Agg      string        // with commas between
	Over     time.Duration // 0 means none
	Describe bool          // over HTTP: the tables in place of rows

	All   bool // check: with what is verified
	Basis bool // check over HTTP: with what the text was judged against

	Severity Severity // the tool subscribe: the least of the flags that are news; "" means that all changes are
	Full     bool     // the tool subscribe: with the whole state
	Seconds  int      // the tool subscribe: how long it waits at most

	spelled string // what counts as it was spelled, encoded: see Param.Verbatim
}

func fresh() Operation {
	return Operation{
		PriceMicros: 1_000, Answer: reflect.TypeFor[StateResponse](),
		Params: func() []Param {
			return []Param{packParam(), {
				Name: "query", // accepted and not used
				Doc:  "For a later version; accepted and ignored.", Example: "stablecoins",
			}, membersParam(), claimsParam()}
		},
		Tool: Tool{
			Title: "Fresh state",
			Description: "The whole newest state as tables (large): 21 of the 100 coins, 24 protocols and chains, 12 pools, sentiment, " +
				"narratives, flags, sources. To compare many rows or see which sources fail. " +
				"members=flags,sentiment returns only these.",
		},
	}
}

func brief() Operation {
	return Operation{
		PriceMicros: 5_000, Answer: reflect.TypeFor[BriefResponse](),
		Params: func() []Param { return []Param{packParam(), claimsParam()} },
		Tool: Tool{
			Title: "Brief",
			Description: "What matters now, in about 300 words: flags first, then market, majors, movers, DeFi, narratives, odds; " +
				"each figure with its [N]. Cheapest overview. For a single number, or a coin not named here, use lookup.",
		},
	}
}

func search() Operation {
	return Operation{
		PriceMicros: 2_000, Answer: reflect.TypeFor[SearchResponse](),
		Params: func() []Param {
			return []Param{packParam(), {
				Name: "q", Kind: KindWords, Required: true, Verbatim: true, field: func(q *Query) any { return &q.Text },
				Reason: ReasonInvalidQ, Missing: "missing or empty", Hint: "say what to look for, for example q=bitcoin",
				Doc: "The text to search for.", ToolDoc: "The word, such as bitcoin", Example: "bitcoin",
			}, {
				Name: "k", Kind: KindWhole, Min: SearchKMin, Max: SearchKMax, Default: strconv.Itoa(SearchKDefault), Verbatim: true,
				field:  func(q *Query) any { return &q.Limit },
				Reason: ReasonInvalidK, Hint: "leave k out for 10 matches",
				Doc: "The maximum number of matches.", ToolDoc: "Rows at most", Example: "2",
			}}
		},
		Tool: Tool{
			Title: "Search the state",
			Description: "Find where a WORD occurs in the newest state (names, headlines, flag texts, field names): " +
				"q=zcash, not q=\"why is zcash up\". q=message lists all flags, q=title all headlines. For numbers use lookup.",
		},
	}
}

func snapshot() Operation {
	return Operation{
		PriceMicros: 10_000, Answer: reflect.TypeFor[StateResponse](),
		Params: func() []Param {
			members := membersParam()
			members.Only = FaceTool
			return []Param{packParam(), momentParam(), members}
		},
		Tool: Tool{
			Title: "Past state", Idempotent: true,
			Description: "The state as of a past minute, without a brief (large; members=top_movers for part of it). " +
				"Reach: 24 hours, 30 or 365 days by tier.",
		},
	}
}

func subscribe() Operation {
	return Operation{
		Answer: reflect.TypeFor[StreamState](),
		Params: func() []Param {
			members, since, least := membersParam(), sinceParam(), minParam()
			members.Only, since.Only, least.Only = FaceHTTP, FaceTool, FaceTool
			since.Required, since.ToolDoc = false, "As in changes"
			return []Param{packParam(), {
				Name: "token", Kind: KindToken, Only: FaceHTTP, Required: true, Reason: ReasonMissingToken,
				Fault: "token is missing or does not begin with cv_",
				Hint:  "send an API key as ?token=cv_…; streams ignore the Authorization header",
				Doc:   "The API key.", Example: "cv_test_EXAMPLEexampleEXAMPLEexample0000", Pattern: "^cv_",
			}, members, {
				Name: "proof", Kind: KindSwitch, Only: FaceHTTP, field: func(q *Query) any { return &q.Proof },
				Reason: ReasonInvalidRequest, Hint: "leave it out for false", Component: "WithProof",
				Doc: "Add to each state the leaf of the pack's log that proves it.", Example: "true",
			}, {
				Name: "brief", Kind: KindSwitch, Only: FaceHTTP, field: func(q *Query) any { return &q.Brief },
				Reason: ReasonInvalidRequest, Hint: "leave it out for false", Component: "WithBrief",
				Doc: "Add to each state the newest brief of the pack.", Example: "true",
			}, since, {
				Name: "severity", Kind: KindSeverity, Only: FaceTool, field: func(q *Query) any { return &q.Severity },
				Reason: ReasonInvalidRequest, Hint: "leave it out for all news",
				Fault: "severity is none of " + List(Severities()), ToolDoc: "Least of the flags",
			}, least, {
				Name: "full", Kind: KindSwitch, Only: FaceTool, field: func(q *Query) any { return &q.Full },
				Reason: ReasonInvalidRequest, Hint: "leave it out for changes only",
				Fault: "full is neither true nor false", ToolDoc: "Add the whole state",
			}, {
				Name: "seconds", Kind: KindWhole, Min: 1, Max: 55, Default: "55", Only: FaceTool, // several clients cut a call at a minute
				field:  func(q *Query) any { return &q.Seconds },
				Reason: ReasonInvalidRequest, Hint: "leave it out for 55",
				Fault: "seconds is not a whole number from 1 to 55", ToolDoc: "At most",
			}}
		},
		Tool: Tool{
			Title: "Watch for changes",
			Description: "Wait up to 55 s for news and return AT ONCE when it lands, with what changed only. " +
				"reason=elapsed: nothing new, call again. since = generatedAt of the last answer misses nothing. " +
				"severity=warning wakes on danger.",
		},
	}
}

func cite() Operation {
	return Operation{
		PriceMicros: 1_000, Answer: reflect.TypeFor[CiteResponse](),
		Params: func() []Param {
			at := momentParam()
			at.Required, at.Missing, at.Pattern, at.Component = false, "", "", "CiteAt"
			at.Doc = "The time of the cited state, as `at` of a snapshot; for a quoted brief, its briefOf."
			at.ToolDoc, at.Example = "As in snapshot", "2026-11-20T20:05:00.123Z"
			return []Param{packParam(), {
				Name: "ref", Kind: KindWhole, Min: 1, Required: true, Verbatim: true, field: func(q *Query) any { return &q.Ref },
				Reason: ReasonInvalidRef, Huge: "more than any pack has sources",
				Hint: "use the ref alone: [3] in a brief is ref=3",
				Doc:  "The ref, 1 to the number of the pack's sources.", ToolDoc: "The N of [N]", Example: "1",
			}, {
				Name: "row", Kind: KindRow, field: func(q *Query) any { return &q.Row },
				Reason: ReasonInvalidRow, Hint: "copy it from lookup, for example row=asset/bitcoin", Component: "CiteRow",
				Doc:     "A row under the ref, kind/key, to cite its page and figures instead of the source.",
				ToolDoc: "Row under it, such as asset/zcash, for its link and figures", Example: "asset/bitcoin",
			}, at}
		},
		Tool: Tool{
			Title:       "Source behind a ref",
			Description: "Proof of one figure: source, link, moment of fetching and excerpt. ref=3 for [3].",
		},
	}
}

func lookup() Operation {
	return Operation{
		PriceMicros: 1_000, Answer: reflect.TypeFor[LookupResponse](), AnyPack: true,
		Params: func() []Param {
			return []Param{packsParam(), {
				Name: "q", Kind: KindQuestions, Required: true, field: func(q *Query) any { return &q.Text },
				Reason: ReasonInvalidQ, Missing: "missing or empty",
				Hint: "ask by name, with commas between questions: q=ADA price,tether supply",
				Doc:  "The questions, separated by commas, each of at most 200 characters.",
				ToolDoc: "Each names things, figures, moments, spans, " +
					"ranks or totals: ADA price yesterday; top 5 by market cap; btc vs eth 24h",
				Example: "ADA price,tether supply",
			}, {
				Name: "kind", Kind: KindRowKind, field: func(q *Query) any { return &q.Kinds },
				Doc: "Limits the answer to one kind of rows, such as asset or headline.", ToolDoc: "Only rows of this kind",
				Example: "asset",
			}, {
				Name: "limit", Kind: KindWhole, Min: 1, Max: MaxLookupRows, Default: strconv.Itoa(DefaultLookupLimit), Verbatim: true,
				field:  func(q *Query) any { return &q.Limit },
				Reason: ReasonInvalidLimit, Hint: "leave limit out for 3 rows per question",
				Doc:     "The maximum number of rows per named thing or list. A number in a question, as in top 5, counts instead.",
				ToolDoc: "Rows per thing or list", Example: "2",
			}}
		},
		Tool: Tool{
			Title: "Look up by name",
			Description: "Numbers and facts by name: prices, changes, volume, market cap, supply, peg, TVL, pools, fees, odds, news, " +
				"flags. " +
				"START HERE for any question. Up to 20 a call: q=\"ADA price, top 3 losers, btc price yesterday\". " +
				"Knows every row fetched. `read` says how a question was read; what cannot be given is named, and so is a pack that " +
				"answers.",
		},
	}
}

func changes() Operation {
	return Operation{
		PriceMicros: 2_000, Answer: reflect.TypeFor[ChangesResponse](),
		Params: func() []Param {
			return []Param{packParam(), sinceParam(), minParam(), {
				Name: "kinds", Kind: KindRowKinds, field: func(q *Query) any { return &q.Kinds },
				Doc: "The kinds of rows and headlines in the answer, separated by commas; all if absent. " +
					"Flags and sources are always in it.",
				ToolDoc: "Of rows, with commas", Example: "asset,headline",
			}}
		},
		Tool: Tool{
			Title: "What changed",
			Description: "What is different since a moment: flags that appeared, rose or ended, then rows by size of move, headlines, " +
				"sources that failed; each old → new with [N].",
		},
	}
}

func series() Operation {
	return Operation{
		PriceMicros: 2_000, Answer: reflect.TypeFor[SeriesResponse](),
		Params: func() []Param {
			return []Param{packParam(), {
				Name: "path", Required: true, field: func(q *Query) any { return &q.Path }, Reason: ReasonInvalidPath,
				Missing: "missing or empty", Hint: "name a member, such as top_movers, or a row, such as asset/bitcoin",
				Doc: "A member of the state, for its current rows, or a row as kind/key, as in lookup.", Example: "asset/bitcoin",
			}, {
				Name: "field", field: func(q *Query) any { return &q.Field },
				Doc:     "The field, as in lookup, such as change24hPct; by default the most important one of the kind.",
				Example: "priceUsd",
			}, {
				Name: "points", Kind: KindWhole, Min: SeriesPointsMin, Max: SeriesPointsMax, Default: strconv.Itoa(SeriesPointsDefault),
				field:  func(q *Query) any { return &q.Points },
				Reason: ReasonInvalidPoints, Hint: "leave points out for 60", Doc: "The number of points.", Example: "4",
			}, {
				Name: "span", Kind: KindSpan, Least: SeriesSpanMin, Default: FormatSpan(SeriesSpanDefault),
				field:  func(q *Query) any { return &q.Span },
				Reason: ReasonInvalidSpan, Hint: "write it as 24h, 90m or 7d; leave it out for 24h", Pattern: spanPattern,
				Doc:     "The time from the first point to the last, 1h or more: whole numbers with the units w, d, h, m or s.",
				Example: "24h",
			}}
		},
	}
}

func history() Operation {
	bound := func(name, doc, example string, field func(q *Query) any) Param {
		return Param{
			Name: name, Kind: KindTime, field: field, Reason: ReasonInvalidRange, Missing: "missing or empty", Hint: momentHint,
			Doc: doc, Example: example, Pattern: `^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?$`,
		}
	}
	return Operation{
		Answer: reflect.TypeFor[HistoryLine](),
		Params: func() []Param {
			from := bound("from", "The start, any RFC 3339 date-time, or a minute in UTC.", "2026-11-20T19:05",
				func(q *Query) any { return &q.From })
			from.Required = true
			return []Param{packParam(), {
				Name: "member", Required: true, field: func(q *Query) any { return &q.Path }, Reason: ReasonInvalidMembers,
				Missing: "missing or empty", Hint: "name a member of the state, such as top_movers",
				Doc: "A member of the state, or a part of one: `sentiment.market`.", Example: "top_movers",
			}, from, bound("to", "The end, at most 31 days after from; by default now or 31 days after from.", "2026-11-20T20:05",
				func(q *Query) any { return &q.To }), {
				Name: "every", Kind: KindSpan, Least: HistoryEveryMin, Default: FormatSpan(HistoryEveryMin),
				field:  func(q *Query) any { return &q.Every },
				Reason: ReasonInvalidEvery, Hint: "write it as 5m, 1h or 1d; leave it out for 5m", Pattern: spanPattern,
				Doc: "The interval, 5m or more.", Example: "1h",
			}}
		},
	}
}

func query() Operation {
	return Operation{
		PriceMicros: 2_000, Answer: reflect.TypeFor[QueryResponse](), AnyPack: true,
		Params: func() []Param {
			pack, at := packsParam(), momentParam()
			at.Required, at.Missing, at.Pattern, at.Component = false, "", "", "QueryAt"
			at.ToolDoc = "As snapshot has it"
			at.Doc = "The time of the rows, as `at` of a snapshot. Rows of the past are those of the state of that time."
			text := func(name string, reason Reason, field func(q *Query) any) Param {
				return Param{Name: name, Kind: KindList, field: field, Reason: reason}
			}
			table := text("table", ReasonInvalidTable, func(q *Query) any { return &q.Table })
			table.Kind, table.Required, table.Missing = KindRowKinds, true, "missing or empty"
			table.Hint = "describe=true lists the tables"
			table.Doc = "A kind of rows, such as `asset`, or `flags`, `headlines` or `sources`. `describe=true` lists them."
			table.ToolDoc, table.Example = "asset, protocol, flags, headlines…", "asset"
			where := text("where", ReasonInvalidWhere, func(q *Query) any { return &q.Where })
			where.Kind, where.Max, where.Example = KindConditions, MaxConditions, "change24hPct < 0"
			where.Doc = "A condition that rows have to meet, `field op value`, with one of " + comparisonsInAll +
				"; `~` means that a text has the words. `name`, `symbol`, `key`, `entity` and `group` are fields. Repeat it for more."
			where.ToolDoc = "field op value: = != in ~ (has the word) or less, more"
			fields := text("fields", ReasonInvalidField, func(q *Query) any { return &q.Fields })
			fields.Doc = "The fields of the rows in the answer, separated by commas; all by default."
			fields.ToolDoc, fields.Example = "With commas", "priceUsd,change24hPct"
			order := text("order", ReasonInvalidOrder, func(q *Query) any { return &q.Order })
			order.Kind, order.Example = KindWords, "-change24hPct"
			order.Doc = "A field, the least first, or behind a `-` the most first; with `over` also `changePct` and `change`. " +
				"By default the largest first."
			order.ToolDoc = "Or -field"
			agg := text("agg", ReasonInvalidAgg, func(q *Query) any { return &q.Agg })
			agg.Example = "count,avg:change24hPct"
			agg.Doc = "Aggregates over all rows that meet the conditions, separated by commas: `count`, or `sum`, `avg`, `min` or " +
				"`max` of a field, as `sum:tvlUsd`. With `over`, `min` and `max` are those of the stored states of the span, at most " +
				strconv.Itoa(SeriesPointsMax) + " of them."
			agg.ToolDoc = "count, sum:field, avg, min, max"
			return []Param{pack, {
				Name: "describe", Kind: KindSwitch, Only: FaceHTTP, field: func(q *Query) any { return &q.Describe },
				Reason: ReasonInvalidRequest, Hint: "leave it out for rows", Example: "true",
				Doc: "Answer with the tables, fields, units and orders instead, free of charge; `table` may be absent then.",
			}, table, where, fields, order, {
				Name: "limit", Kind: KindWhole, Min: 1, Max: MaxQueryRows, Default: strconv.Itoa(DefaultQueryLimit),
				field:  func(q *Query) any { return &q.Limit },
				Reason: ReasonInvalidLimit, Hint: "leave limit out for 10 rows",
				Doc: "The maximum number of rows.", ToolDoc: "Rows", Example: "3",
			}, agg, at, {
				Name: "over", Kind: KindSpan, Least: SeriesSpanMin, field: func(q *Query) any { return &q.Over },
				Reason: ReasonInvalidOver, Hint: "write it as 24h, 90m or 7d", Pattern: spanPattern,
				Doc: "Adds to each row what its numbers were so long before, and by how much they changed since: 1h or more, whole " +
					"numbers with the units w, d, h, m or s.",
				ToolDoc: "24h", Example: "1h",
			}}
		},
		Tool: Tool{
			Title: "Query rows",
			Description: "Rows by structure: filter, rank, total, now or then. 24h high: table=asset, where=[\"symbol = BTC\"], " +
				"agg=max:priceUsd, over=24h. Tables and fields: context://tables/{pack}; a wrong name is answered with them, free.",
		},
	}
}

func check() Operation {
	return Operation{
		PriceMicros: 2_000, Answer: reflect.TypeFor[CheckResponse](),
		Params: func() []Param {
			at := momentParam()
			at.Required, at.Missing, at.Pattern, at.Component = false, "", "", "CheckAt"
			at.ToolDoc = "As snapshot has it"
			at.Doc = "The time that the text is about, as `at` of a snapshot. The text is judged by the state of that time alone."
			return []Param{packParam(), {
				Name: "text", Kind: KindDraft, Required: true, Max: MaxCheckBytes, field: func(q *Query) any { return &q.Text },
				Reason: ReasonInvalidText, Missing: "missing or empty", Hint: "send the text that is to be judged, in parts if it is long",
				Doc: "The text, of at most " + strconv.Itoa(MaxCheckBytes) + " bytes with " + strconv.Itoa(MaxCheckFigures) +
					" numbers. It is not kept.",
				ToolDoc: "Your draft", Example: "Bitcoin trades at $120,000.",
			}, at, {
				Name: "within", Kind: KindSpan, Least: CheckWithinMin, Default: FormatSpan(CheckWithin),
				field:  func(q *Query) any { return &q.Span },
				Reason: ReasonInvalidSpan, Hint: "write it as 15m or 1h; leave it out for 15m", Pattern: spanPattern,
				Doc: "A value that the row had so long before the moment counts as that of the moment.", Example: "1h",
			}, {
				Name: "all", Kind: KindSwitch, field: func(q *Query) any { return &q.All },
				Reason: ReasonInvalidRequest, Hint: "leave it out for false", ToolDoc: "Also verified",
				Doc: "Also list what is verified.", Example: "true",
			}, {
				Name: "basis", Kind: KindSwitch, Only: FaceHTTP, field: func(q *Query) any { return &q.Basis },
				Reason: ReasonInvalidRequest, Hint: "leave it out for false",
				Doc:     "Add the rows and samples that the text was judged against, signed, so that it can be judged again offline.",
				Example: "true",
			}}
		},
		Tool: Tool{
			Title: "Check a draft",
			Description: "Before you send an answer with figures: judges each by the data. refuted: wrong, with the right value; " +
				"stale: was so; unknown: not judged.",
		},
	}
}

// RowQuery returns what q, a call of query, asks for.
func (q Query) RowQuery() RowQuery {
	r := RowQuery{Pack: q.Pack, Table: q.Table, Order: q.Order, Limit: q.Limit, Fields: split(q.Fields), Agg: split(q.Agg)}
	for line := range strings.Lines(q.Where) {
		c, _ := ParseCondition(line) // it was parsed
		r.Where = append(r.Where, c)
	}
	if q.Over > 0 {
		r.Over = FormatSpan(q.Over)
	}
	if !q.At.At.IsZero() {
		r.At = q.At.Written()
	}
	return r
}

func split(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}

// Parameters of several operations.

const (
	momentHint  = "write a minute in UTC, for example 2026-11-20T20:05, or any RFC 3339 date-time"
	spanPattern = `^(\d+[wdhms])+$`
)

func packParam() Param {
	return Param{
		Name: "pack", Default: DefaultPack, field: func(q *Query) any { return &q.Pack }, Component: "Pack",
		Doc: "The id of the pack. Packs that are not served answer 404.", Example: "crypto",
	}
}

// packsParam is packParam of an operation that may be about all packs.
func packsParam() Param {
	p := packParam()
	p.Component, p.ToolDoc = "Packs", "* is all"
	p.Doc = "The id of the pack, or `*` for all packs that the caller may read. Packs that are not served answer 404."
	return p
}

func membersParam() Param {
	return Param{
		Name: "members", Kind: KindNames, field: func(q *Query) any { return &q.Members }, Component: "Members",
		Doc:     "The members of the state in the answer, separated by commas; all by default. The rest of the answer is complete.",
		ToolDoc: "With commas", Example: "flags,sentiment",
	}
}

func claimsParam() Param {
	return Param{
		Name: "claims", Kind: KindSwitch, field: func(q *Query) any { return &q.Claims }, Reason: ReasonInvalidRequest,
		Hint: "leave it out for false", Component: "Claims", Doc: "Add the source of each figure of the brief.", Example: "true",
	}
}

func momentParam() Param {
	return Param{
		Name: "at", Kind: KindTime, Required: true, field: func(q *Query) any { return &q.At }, Reason: ReasonInvalidAt,
		Missing: "missing", Hint: momentHint, ToolDoc: "A minute in UTC, 14:05, -20m, or a generatedAt", Example: "2026-11-20T20:05",
		Doc:     "A minute in UTC, `YYYY-MM-DDTHH:MM`, or any RFC 3339 date-time (`+` as `%2B`), cut to its minute.",
		Pattern: `^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}(:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2}))?$`,
	}
}

// sinceParam is the moment since which changes count.
func sinceParam() Param {
	return Param{
		Name: "since", Kind: KindSince, Required: true, field: func(q *Query) any { return &q.At },
		Reason: ReasonInvalidSince, Missing: "missing",
		Hint: "use an age such as -20m, a minute in UTC such as 2026-11-20T20:05, or the generatedAt of an answer",
		Doc: "An age, such as `-20m`, `-3h` or `-2d`; a minute in UTC, such as `2026-11-20T20:05`; or any RFC 3339 date-time " +
			"(`+` as `%2B`): one with seconds, such as the `generatedAt` of an answer, names the newest state at that time.",
		ToolDoc: "-20m, 14:05, a minute in UTC or a generatedAt", Example: "-20m",
	}
}

// minParam is the least move of a figure that counts.
func minParam() Param {
	return Param{
		Name: "min", Kind: KindNumber, Default: "0", field: func(q *Query) any { return &q.Min }, Reason: ReasonInvalidMin,
		Hint:    "min=0.5 omits changes below 0.5 percent",
		Doc:     "The minimum move of a figure in percent; for a figure in percent, in points.",
		ToolDoc: "Least move in percent", Example: "0.5",
	}
}
