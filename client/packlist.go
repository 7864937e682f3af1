package client

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// How long the list of packs is taken for what the service has, after it answered and after it did not, and how long one waits for it where
// it is not what was asked for.
const (
	packsFresh = time.Hour
	packsRetry = time.Minute
	packsWait  = time.Second
)

// packList is what packs the configured service has. No key is sent, nothing is paid and nobody is asked for anything.
type packList struct {
	config func() (*config.Config, error)
	open   func(address string, p sdk.Payer) (*sdk.Client, error)
	now    func() time.Time
}

// cachedPacks are the packs of a service as it told them last.
type cachedPacks struct {
	Until time.Time      `json:"until"` // when it is to be asked again
	Packs []api.PackInfo `json:"packs"`
}

// Ask asks the service.
func (l packList) Ask(ctx context.Context, opts ...sdk.CallOption) ([]api.PackInfo, error) {
	c, err := l.config()
	if err != nil {
		return nil, err
	}
	address := c.Get(config.BaseURL).Text
	client, err := l.open(address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Packs(ctx, opts...)
	if err != nil {
		return nil, err
	}
	l.cache(c, address, cachedPacks{l.now().Add(packsFresh), answer.Packs})
	return answer.Packs, nil
}

// Known are the packs as the service told them last, or as it tells them within a second where that is long ago.
func (l packList) Known(ctx context.Context) []api.PackInfo {
	c, err := l.config()
	if err != nil {
		return nil
	}
	address := c.Get(config.BaseURL).Text
	last := l.cached(c)[address]
	if l.now().Before(last.Until) {
		return last.Packs
	}
	ctx, cancel := context.WithTimeout(ctx, packsWait)
	defer cancel()
	packs, err := l.Ask(ctx)
	if err != nil {
		l.cache(c, address, cachedPacks{l.now().Add(packsRetry), last.Packs})
		return last.Packs
	}
	return packs
}

// Find is what is known of a pack, nil if that is nothing.
func (l packList) Find(ctx context.Context, id string) *api.PackInfo {
	list := l.Known(ctx)
	if i := slices.IndexFunc(list, func(p api.PackInfo) bool { return p.ID == id }); i >= 0 {
		return &list[i]
	}
	return nil
}

// Members are those of the states of a pack. They are all of them if whole.
func (l packList) Members(ctx context.Context, pack string) (names []string, whole bool) {
	shape, whole := stateOf(pack)
	if !whole {
		if info := l.Find(ctx, pack); info != nil {
			names, whole = topMembers(info), true
		}
	}
	return append(names, cli.FieldsIn(shape)...), whole
}

// plain reports whether a name means nothing to a shell: completion puts it on a command line.
func shellSafe(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`).MatchString(name)
}

func topMembers(p *api.PackInfo) (names []string) {
	for _, m := range p.Members {
		if top, _, _ := strings.Cut(m.Name, "."); !slices.Contains(names, top) {
			names = append(names, top)
		}
	}
	return names
}

// stateOf is a state of a pack as far as ctx knows its type: that of the crypto pack is whole, of others it is what all packs have.
func stateOf(pack string) (state any, whole bool) {
	if pack == api.PackCrypto {
		return api.CryptoState{}, true
	}
	return struct {
		Flags        []api.Flag         `json:"flags"`
		SourceStatus []api.SourceStatus `json:"source_status"`
	}{}, false
}

// packsFile is where the packs of all services are kept.
func packsFile(c *config.Config) string { return filepath.Join(c.Dir, "packs.json") }

// cached are the packs of all services, by their addresses. A file that is not there, or damaged, has none.
func (l packList) cached(c *config.Config) map[string]cachedPacks {
	kept := map[string]cachedPacks{}
	if text, err := os.ReadFile(packsFile(c)); err != nil || json.Unmarshal(text, &kept) != nil {
		return map[string]cachedPacks{}
	}
	return kept
}

// cache stores what a service told. Where that fails it is asked again.
func (l packList) cache(c *config.Config, address string, k cachedPacks) {
	all := l.cached(c)
	for other, kept := range all {
		if l.now().Sub(kept.Until) > 30*24*time.Hour {
			delete(all, other)
		}
	}
	all[address] = k
	if text, err := cli.Marshal(all); err == nil && os.MkdirAll(c.Dir, 0o700) == nil {
		_ = atomicfile.Write(packsFile(c), text, 0o600)
	}
}

// CompletePack completes the name of a pack.
func (f *factory) CompletePack() cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		for _, p := range f.Packs.Known(c.Context()) {
			if shellSafe(p.ID) {
				names = append(names, p.ID+"\t"+human.Line(p.Title))
			}
		}
		if len(names) == 0 {
			names = []string{api.DefaultPack}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompletePackArgument completes the name of a pack as the first argument.
func (f *factory) CompletePackArgument() cobra.CompletionFunc {
	names := f.CompletePack()
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c, args, typed)
	}
}

// completed is the pack that a command line is about which is being typed.
func (f *factory) completed(c *cobra.Command, args []string) string {
	name := ""
	if flag := c.Flags().Lookup("pack"); flag != nil {
		name = flag.Value.String()
	}
	if name == "" && len(args) > 0 && f.Packs.Find(c.Context(), args[0]) != nil {
		name = args[0]
	}
	pack, err := f.Pack([]string{name})
	if err != nil {
		return api.DefaultPack
	}
	return pack
}

func (f *factory) completeList(names func(ctx context.Context, l packList, pack string) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) (list []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		for _, name := range names(c.Context(), f.Packs, f.completed(c, args)) {
			if shellSafe(name) && !slices.Contains(strings.Split(before, ","), name) {
				list = append(list, before+name)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// CompleteMembers completes a list of members of the state.
func (f *factory) CompleteMembers() cobra.CompletionFunc {
	return f.completeList(func(ctx context.Context, l packList, pack string) []string {
		names, _ := l.Members(ctx, pack)
		return names
	})
}

// CompleteNumbers completes the name of a number that rows have.
func (f *factory) CompleteNumbers() cobra.CompletionFunc {
	return f.completeList(func(ctx context.Context, l packList, pack string) (names []string) {
		if info := l.Find(ctx, pack); info != nil {
			for _, m := range info.Members {
				names = append(names, m.Fields...)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	})
}

// CompleteKinds completes a list of kinds of rows.
func (f *factory) CompleteKinds() cobra.CompletionFunc {
	return f.completeList(func(ctx context.Context, l packList, pack string) (names []string) {
		if info := l.Find(ctx, pack); info != nil {
			names = info.Kinds
		}
		return names
	})
}
