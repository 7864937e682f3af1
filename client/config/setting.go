// Package config is where ctx keeps what it was told: settings and profiles in a file, keys in another.
//
// It owns the places, the layers (flag over environment over profile over file over default) and the modes of the files. It
// never prints a key, never asks the user and reads the environment only through the function it is given.
package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// Names of the settings.
const (
	Profile    = "profile"
	BaseURL    = "base_url"
	APIKeyFile = "api_key_file"
	Pack       = "pack"
	Output     = "output"
	Color      = "color"
	Timeout    = "timeout"
	Retries    = "retries"
	Watchlist  = "watchlist"
	Witnesses  = "witnesses"
	Notify     = "notify"

	Wallet      = "wallet"
	RPCURL      = "rpc_url"
	ChainID     = "chain_id"
	Token       = "token"
	Assets      = "assets"
	Explorer    = "explorer"
	Pay         = "pay"
	MaxPerCall  = "max_per_call"
	MaxPerDay   = "max_per_day"
	MaxPerMonth = "max_per_month"
)

// Published is MaxPerCall where a call may cost what is published as its price.
const Published = "published"

// DefaultProfile is the profile that is used where none is named.
const DefaultProfile = "default"

// Setting is something that can be set.
type Setting struct {
	Name    string // in the file
	Env     string // environment variable
	Flag    string // empty means that no flag sets it
	Default string
	Help    string
	check   func(string) error // nil takes any value
}

// Settings returns every setting.
func Settings() []Setting {
	return []Setting{
		{Profile, "CTX_PROFILE", "profile", DefaultProfile, "profile to use", checkProfile},
		{BaseURL, sdk.EnvBaseURL, "base-url", api.DefaultBaseURL, "address of the service", checkURL},
		{APIKeyFile, "CTX_API_KEY_FILE", "api-key-file", "", "file that holds the API key", nil},
		{Pack, "CTX_PACK", "", api.DefaultPack, "pack that commands are about when they name none", checkPack},
		{Output, "CTX_OUTPUT", "output", "", "output format; empty means what suits the terminal", checkOutput},
		{Color, "CTX_COLOR", "color", "auto", "auto, always or never", checkColor},
		{Timeout, "CTX_TIMEOUT", "timeout", sdk.DefaultTimeout.String(), "time limit of a call, retries included", checkDuration},
		{Retries, "CTX_RETRIES", "retries", strconv.Itoa(sdk.DefaultRetries), "attempts after the first", checkCount},
		{Watchlist, "CTX_WATCHLIST", "", "", "names that @ stands for in lookup and price, with commas between", nil},
		{Notify, "CTX_NOTIFY", "", "true", "false keeps ctx ui from ringing and notifying of watches and critical flags", checkSwitch},
		{Witnesses, "CTX_WITNESSES", "", "", "keys of witnesses whose signatures are looked for, with commas between", checkWitnesses},
		{Wallet, "CTX_WALLET", "", "", "wallet to pay and sign in with: a keystore file, or its name or address", nil},
		{RPCURL, "CTX_RPC_URL", "", "", "JSON-RPC of the chain to pay on", checkOptional(checkURL)},
		{ChainID, "CTX_CHAIN_ID", "", strconv.Itoa(api.ChainIDMain), "id of that chain", checkChain},
		{Token, "CTX_TOKEN", "", "", "address of the USDG contract there", checkOptional(checkAddress)},
		{Assets, "CTX_ASSETS", "", "usdg,usdc-base", "dollars that other services may be paid with, beside that token", checkAssets},
		{Explorer, "CTX_EXPLORER", "", "", "explorer of that chain, for ctx open; empty means a known one", checkOptional(checkURL)},
		{Pay, "CTX_PAY", "pay", "false", "true pays for calls from the wallet, one by one, and sends no key", checkSwitch},
		{MaxPerCall, "CTX_MAX_PER_CALL", "max-amount", Published, "most that is paid for a call, in USDG; published for what is its price",
			checkMost},
		{MaxPerDay, "CTX_MAX_PER_DAY", "", "1", "most that is paid in 24 hours, in USDG", checkAmount},
		{MaxPerMonth, "CTX_MAX_PER_MONTH", "", "10", "most that is paid in 30 days, in USDG", checkAmount},
	}
}

// Find returns the setting called name, in which - may stand for _.
func Find(name string) (Setting, error) {
	name = strings.ReplaceAll(name, "-", "_")
	all := Settings()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		if near := human.Nearest(name, names); near != "" {
			return Setting{}, fmt.Errorf("there is no setting %q; did you mean %s?", name, near)
		}
		return Setting{}, fmt.Errorf("there is no setting %q; there are %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// ValueError says that a setting cannot have a value.
type ValueError struct {
	Setting Setting
	Value   Value
	next    string // what to do where that is not to set another value
	err     error
}

// Error says what is wrong with the value, and where it is from.
func (e *ValueError) Error() string { return fmt.Sprintf("%v (from %s)", e.err, e.Value.Origin) }

// Next is how to set another value there.
func (e *ValueError) Next() string {
	switch {
	case e.next != "":
		return e.next
	case strings.HasPrefix(e.Value.Origin, "option"):
		return "another value for --" + e.Setting.Flag
	case strings.HasPrefix(e.Value.Origin, "environment"):
		return "another value for " + e.Setting.Env + ", or unset " + e.Setting.Env
	}
	return "ctx config edit"
}

// Check reports whether value can be that of s.
func (s Setting) Check(value string) error {
	if s.check == nil {
		return nil
	}
	if err := s.check(value); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// checkProfile keeps names to what is a key in YAML and a word in a shell; viper folds case, so there is only lower case.
func checkProfile(name string) error {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' }
	if name == "" || len(name) > 32 || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return fmt.Errorf("%q is not a name of 1 to 32 of a-z, 0-9, - and _", name)
	}
	return nil
}

// checkURL refuses a user in the address: it would end up in logs.
func checkURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err == nil && u.User != nil:
		return errors.New("the address holds a user or a password, which logs would show; leave them out")
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "":
		return nil
	case address != "" && !strings.Contains(address, "://") && !strings.ContainsAny(address, " \t"):
		scheme := "https"
		if host, _, _ := strings.Cut(address, ":"); host == "localhost" || strings.HasPrefix(host, "127.") {
			scheme = "http"
		}
		return fmt.Errorf("%q lacks its scheme; write %s://%s", address, scheme, address)
	}
	return fmt.Errorf("%q is not an address such as https://host or http://127.0.0.1:8402", address)
}

// checkPack takes any id: which packs there are is the service's matter.
func checkPack(pack string) error {
	if pack == "" || strings.ContainsAny(pack, " \t\n") {
		return fmt.Errorf("%q is not the id of a pack", pack)
	}
	return nil
}

// checkOutput takes the formats of package output, which this package is below.
func checkOutput(format string) error {
	if format != "" && !slices.Contains([]string{"table", "json", "yaml", "ndjson", "tsv", "text"}, format) {
		return fmt.Errorf("%q is none of table, json, yaml, ndjson, tsv, text", format)
	}
	return nil
}

func checkColor(when string) error {
	if !slices.Contains([]string{"auto", "always", "never"}, when) {
		return fmt.Errorf("%q is none of auto, always, never", when)
	}
	return nil
}

// checkSwitch takes true and false.
func checkSwitch(text string) error {
	if text != "true" && text != "false" {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}

// checkDuration takes 0 too, which means no limit.
func checkDuration(text string) error {
	if d, err := time.ParseDuration(text); err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration such as 30s or 2m", text)
	}
	return nil
}

// checkCount bounds the retries, so that a slip does not hammer a service.
func checkCount(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 0 || n > 100 {
		return fmt.Errorf("%q is not a number from 0 to 100", text)
	}
	return nil
}

// checkOptional lets check look at what is not empty.
func checkOptional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

// checkChain takes the id of any chain.
func checkChain(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < 1 {
		return fmt.Errorf("%q is not the id of a chain", text)
	}
	return nil
}

// checkAddress takes what looks like an address.
func checkAddress(text string) error {
	if digits, ok := strings.CutPrefix(text, "0x"); !ok || len(digits) != 40 || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
		return fmt.Errorf("%q is not 0x and 40 hexadecimal digits", text)
	}
	return nil
}

// checkAssets takes a list of tokens, with commas between.
func checkAssets(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if _, err := wallet.ParseAsset(strings.TrimSpace(name)); err != nil && text != "" {
			return err
		}
	}
	return nil
}

// checkWitnesses takes a list of verifier keys, with commas between.
func checkWitnesses(text string) error {
	for key := range strings.SplitSeq(text, ",") {
		if _, err := sdk.ParseWitnessKey(strings.TrimSpace(key)); err != nil && text != "" {
			return err
		}
	}
	return nil
}

// checkMost takes an amount, or the published price.
func checkMost(text string) error {
	if text == Published {
		return nil
	}
	return checkAmount(text)
}

// checkAmount takes an amount of USDG that is not 0, which would mean the default.
func checkAmount(text string) error {
	if n, err := usdg.ParseAmount(text); err != nil || n == 0 {
		return fmt.Errorf("%q is not an amount such as 0.05", text)
	}
	return nil
}
