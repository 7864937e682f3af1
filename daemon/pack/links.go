package pack

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/daemon/source"
)

// links tells what a row speaks of: its entity, which rows and flags about the same thing share. That of a coin, and of all that is about
// it, is the coin's id; anything else is the kind and key of its own row. It goes by the ids that upstreams give, then by names; what a
// thing is does not age, so that answers too old to be shown tell it too.
type links struct {
	coins map[string]bool   // by id
	named map[string]string // entities, by the words of a name as they are written, by symbol and by id; of several the largest
	llama map[string]string // entities of protocols, by the names and ids that DefiLlama has for them
}

// linksOf looks at what the sources last said.
func (p *Pack) linksOf(in Input) *links {
	l := &links{coins: make(map[string]bool), named: make(map[string]string), llama: make(map[string]string)}
	if doc, ok := read[*source.MarketsDoc](p, in, refMarkets); ok {
		for _, c := range doc.Coins {
			l.coins[c.ID] = true
			l.name(c.ID, c.ID, c.Name, c.Symbol)
		}
	}
	if doc, ok := read[*source.StablecoinsDoc](p, in, refStablecoins); ok {
		for _, c := range doc.Coins {
			l.coins[c.ID] = true
			l.name(c.ID, c.ID, c.Name, c.Symbol)
		}
	}
	if doc, ok := read[*source.ProtocolsDoc](p, in, refProtocols); ok {
		for _, protocol := range doc.Protocols {
			entity := l.protocol(protocol)
			l.llama[protocol.Name], l.llama[protocol.LlamaID] = entity, entity
			if telling(protocol.Name) {
				l.name(entity, protocol.Name)
			}
		}
	}
	if doc, ok := read[*source.ChainsDoc](p, in, refChains); ok {
		for _, c := range doc.Chains {
			if telling(c.Name) {
				l.name(l.chain(c), c.Name)
			}
		}
	}
	delete(l.llama, "") // the id of those without one
	return l
}

// read is what the source [ref] last said.
func read[D source.Doc](p *Pack, in Input, ref int) (doc D, ok bool) {
	doc, ok = in.Readings[p.Sources[ref-1].ID].Doc.(D)
	return doc, ok
}

func (l *links) name(entity string, names ...string) {
	for _, name := range names {
		name = strings.Join(wordsIn(name), " ")
		if _, taken := l.named[name]; !taken && entity != "" && name != "" {
			l.named[name] = entity
		}
	}
}

// telling reports whether a name is more than a word that any text may have at the beginning of a sentence.
func telling(name string) bool {
	for i, r := range name {
		if i > 0 && !unicode.IsLower(r) {
			return true
		}
	}
	return false
}

// family is the slug of a protocol without the number of its release: aave of aave-v3.
func family(slug string) string {
	at := strings.LastIndex(slug, "-v")
	if at < 0 || at+2 == len(slug) || strings.Trim(slug[at+2:], "0123456789") != "" {
		return slug
	}
	return slug[:at]
}

// coin is id if there is a coin of that id, else "".
func (l *links) coin(id string) string {
	if l.coins[id] {
		return id
	}
	return ""
}

// protocol is what p is: its token, if that is a coin.
func (l *links) protocol(p source.Protocol) string {
	return cmp.Or(l.coin(p.CoinID), l.coin(l.named[family(p.Slug)]), kindProtocol+"/"+p.Slug)
}

// chainKey is the key of a chain: its name is all that upstream has.
func chainKey(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "-")) }

// chain is what c is: its coin.
func (l *links) chain(c source.Chain) string {
	if c.CoinID == "" && c.Name == "BSC" {
		return "binancecoin"
	}
	return cmp.Or(l.coin(c.CoinID), l.coin(l.named[c.Name]), l.coin(l.named[chainKey(c.Name)]), kindChain+"/"+chainKey(c.Name))
}

func hackKey(h source.Hack) string { return h.Date.Format(time.DateOnly) + " " + h.Name }

func (l *links) hack(h source.Hack) string {
	return cmp.Or(l.llama[h.Name], l.llama[h.LlamaID], kindHack+"/"+hackKey(h))
}

func wordsIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,.:;!?'’\"()/$", r) })
}

// in is what a text speaks of first, "" for nothing known. Names count as they are written, from three letters on, so that a word that
// happens to be a name is none.
func (l *links) in(text string) string {
	words := wordsIn(text)
	for i := range words {
		for n := min(3, len(words)-i); n > 0; n-- {
			name := strings.Join(words[i:i+n], " ")
			entity := l.named[name]
			if entity != "" && len(name) >= 3 && name != entity && strings.ToLower(name) != name {
				return entity
			}
		}
	}
	return ""
}
