package client

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/sdk/api"
)

// maxNames is how many names are kept for completion.
const maxNames = 500

// plainName matches names that mean nothing to a shell: anybody may choose one for a coin.
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,39}$`)

// namesFile has the names that answers had, a line each, the newest last. They are offered by completion, which asks nobody.
func namesFile(c *config.Config) string { return filepath.Join(c.Dir, "names") }

func learned(c *config.Config) []string {
	text, _ := os.ReadFile(namesFile(c)) // where there is none, there is nothing to offer
	return slices.DeleteFunc(strings.Fields(string(text)), func(name string) bool { return !plainName.MatchString(name) })
}

// learn keeps names. That it fails is no trouble of who asked for something else.
func learn(configured func() (*config.Config, error), names []string) {
	c, err := configured()
	if err != nil {
		return
	}
	list := learned(c)
	known := len(list)
	for _, name := range names {
		if name = strings.ToLower(name); plainName.MatchString(name) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if len(list) == known || os.MkdirAll(c.Dir, 0o700) != nil {
		return
	}
	_ = atomicfile.Write(namesFile(c), []byte(strings.Join(list[max(len(list)-maxNames, 0):], "\n")+"\n"), 0o600)
}

func namesOfRows(found *api.LookupResponse) (names []string) {
	for _, result := range found.Results {
		for _, r := range result.Rows {
			if r.Symbol != "" { // what has none, as a headline, is called by no name
				names = append(names, r.Symbol, r.Name)
			}
		}
	}
	return names
}

// namesOfState are those of the coins and protocols of a state.
func namesOfState(doc json.RawMessage) (names []string) {
	var state struct {
		Movers    []api.Mover `json:"top_movers"`
		Protocols []struct {
			ID string `json:"id"`
		} `json:"protocol_tvl"`
	}
	_ = json.Unmarshal(doc, &state) // that of another pack may have others
	for _, m := range state.Movers {
		names = append(names, m.Symbol, m.ID)
	}
	for _, p := range state.Protocols {
		names = append(names, p.ID)
	}
	return names
}

// anyName completes names of the watchlist and those that answers had, and each of more.
func anyName(configured func() (*config.Config, error), more ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		c, err := configured()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := watchlist(c)
		for _, name := range learned(c) {
			if strings.HasPrefix(name, typed) && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return append(list, more...), cobra.ShellCompDirectiveNoFileComp
	}
}
