package policy_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// importing is a module whose package at from imports each of list; those of the module itself exist and are empty.
func importing(from string, list ...string) map[string]string {
	files := map[string]string{}
	src := "package x\n"
	for _, imp := range list {
		if within(imp, []string{"cmd", "daemon", "client", "tui", "sdk", "internal"}) {
			files[imp+"/x.go"] = "package x\n"
			imp = "example.com/m/" + imp
		}
		src += "import _ \"" + imp + "\"\n"
	}
	files[path.Join(from, "from.go")] = src
	return files
}

// forbidden are, for each import rule, packages with an import that breaches it.
func forbidden() map[string][][2]string {
	return map[string][][2]string{
		"rules know no database": {
			{"internal/state", "database/sql"},
			{"daemon/billing", sqlite},
			{"daemon/gate/inner", "daemon/store"},
			{"daemon/x402", "database/sql/driver"},
		},
		"rules know no HTTP": {
			{"daemon/gate", "net/http"},
			{"daemon/reader", "net/http/httptest"},
			{"daemon/account", "net/http"},
		},
		"rules know no command line": {{"daemon/pipeline", cobra}, {"daemon/pack", viper}, {"daemon/brief", pflag}},
		"rules know no chain client": {{"daemon/x402", goEthereum + "/common"}, {"daemon/billing", "daemon/chain"}},
		"rules know no edge":         {{"daemon/reader", "daemon/web"}, {"daemon/gate", "daemon/mcp"}},
		"sdk/api is standard library only": {
			{"sdk/api", "github.com/google/uuid"},
			{"sdk/api", "golang.org/x/text/cases"},
			{"sdk/api", "internal/build"},
		},
		"jsonx and atomicfile are standard library only": {
			{"internal/jsonx", "sdk/api"},
			{"internal/atomicfile", "github.com/google/renameio/v2"},
		},
		"human is standard library only": {
			{"internal/human", "github.com/charmbracelet/x/ansi"},
			{"internal/human", "sdk/api"},
		},
		"prose is pure":                     {{"internal/prose", "internal/state"}, {"internal/prose", "sdk/api"}},
		"state is pure":                     {{"internal/state", "daemon/pack"}, {"internal/state", "sdk"}, {"internal/state", bubbletea}},
		"check is pure":                     {{"internal/check", "daemon/pack"}, {"internal/check", "sdk"}},
		"alert knows no program":            {{"internal/alert", "daemon/mail"}, {"internal/alert", "client"}, {"internal/alert", cobra}},
		"setting knows no program":          {{"internal/setting", "daemon/pack"}, {"internal/setting", "client"}, {"internal/setting", pflag}},
		"sdk knows no daemon":               {{"sdk", "daemon"}, {"sdk/wallet", "daemon/x402"}},
		"sdk knows no chain":                {{"sdk", goEthereum + "/core"}},
		"tui knows no client and no daemon": {{"tui", "client"}, {"tui/screen", "daemon/feed"}},
		"client knows no daemon":            {{"client", "daemon"}, {"client", "daemon/store"}},
		"daemon knows no client":            {{"daemon", "client"}, {"daemon/web", "tui"}, {"daemon/daemontest", "cmd/contextd"}},
		"nothing imports cmd":               {{"client", "cmd/ctx"}, {"internal/build", "cmd/contextd"}},
		"only store speaks SQL": {
			{"daemon/feed", "database/sql"},
			{"daemon", sqlite},
			{"cmd/contextd", "database/sql"},
			{"daemon/storefront", "database/sql"},
		},
		"only four packages know the chain": {
			{"daemon", goEthereum + "/ethclient"},
			{"client", goEthereum},
			{"daemon/web", goEthereum + "/crypto"},
		},
		"only programs parse flags":       {{"daemon", cobra}, {"tui", viper}, {"sdk", pflag}},
		"only tui draws":                  {{"client", bubbletea}, {"cmd/ctx", bubbletea2 + "/v2"}},
		"only sdk reads streams":          {{"client", r3labs + "/v2"}, {"daemon/web", r3labs}},
		"only sdk and translog know logs": {{"daemon/web", sumdb + "/sumdb/tlog"}, {"client", sumdb + "/sumdb/note"}},
		"daemontest is for tests":         {{"daemon", "daemon/daemontest"}, {"internal/devchain", "daemon/daemontest"}},
	}
}

func importFixtures() []fixture {
	list := []fixture{
		{"imports", "allowed", map[string]string{
			"internal/state/a.go":      "package state\nimport (\"math\"; \"golang.org/x/text/cases\")\n",
			"daemon/brief/a.go":        "package brief\nimport \"net/http\"\n",
			"daemon/x402/a.go":         "package x402\nimport (\"example.com/m/internal/usdg\"; \"example.com/m/sdk/api\")\n",
			"internal/usdg/a.go":       "package usdg\nimport \"" + goEthereum + "/common\"\n",
			"daemon/store/a.go":        "package store\nimport (\"database/sql\"; _ \"" + sqlite + "\")\n",
			"daemon/chain/a.go":        "package chain\nimport \"" + goEthereum + "/ethclient\"\n",
			"sdk/api/a.go":             "package api\nimport (\"encoding/json\"; \"net/http\")\n",
			"sdk/a.go":                 "package sdk\nimport (\"" + r3labs + "/v2\"; \"example.com/m/sdk/api\")\n",
			"sdk/wallet/a.go":          "package wallet\nimport \"" + goEthereum + "/accounts\"\n",
			"client/a.go":              "package client\nimport (\"" + cobra + "\"; \"example.com/m/tui\"; \"example.com/m/sdk/wallet\")\n",
			"client/a_test.go":         "package client_test\nimport \"example.com/m/daemon/daemontest\"\n",
			"tui/a.go":                 "package tui\nimport (\"" + bubbletea + "\"; \"example.com/m/sdk\")\n",
			"cmd/contextd/main.go":     "package main\nimport (\"" + cobra + "\"; \"example.com/m/daemon/daemontest\")\n",
			"daemon/daemontest/a.go":   "package daemontest\nimport \"example.com/m/internal/devchain\"\n",
			"internal/devchain/dev.go": "package devchain\nimport \"" + goEthereum + "/core\"\n",
			"daemon/daemon.go":         "package daemon\nimport (\"net/http\"; \"example.com/m/daemon/store\"; \"example.com/m/internal/state\")\n",
		}, nil},
		{"imports", "through another package", map[string]string{
			"daemon/pack/a.go":    "package pack\nimport _ \"example.com/m/internal/state\"\nimport _ \"example.com/m/daemon/source\"\n",
			"internal/state/a.go": "package state\n\nimport \"example.com/m/daemon/source\"\n",
			"daemon/source/a.go":  "package source\nimport \"example.com/m/daemon/store\"\n",
			"daemon/store/a.go":   "package store\nimport \"database/sql\"\n",
		}, []string{
			"daemon/pack/a.go:3: daemon/pack imports daemon/source imports daemon/store (rules know no database",
			"internal/state/a.go:3: internal/state imports daemon/source imports daemon/store (rules know no database",
		}},
		{"imports", "sdk through wallet", map[string]string{
			"sdk/a.go":        "package sdk\nimport \"example.com/m/sdk/wallet\"\n",
			"sdk/wallet/a.go": "package wallet\nimport \"" + goEthereum + "/accounts\"\n",
		}, []string{"sdk/a.go:2: sdk imports sdk/wallet imports " + goEthereum + "/accounts (sdk knows no chain"}},

		{"servers", "a client", map[string]string{
			"daemon/brief/a.go": "package brief\nimport \"net/http\"\nfunc f(c *http.Client) (*http.Response, error) { return c.Do(r) }\n",
			"daemon/web/a.go":   "package web\nimport \"net/http\"\nvar _ http.Handler = x\n",
		}, nil},
		{"servers", "a server", map[string]string{
			"daemon/brief/a.go": "package brief\nimport web \"net/http\"\nfunc (h *H) ServeHTTP(w web.ResponseWriter, r *web.Request) {}\n",
		}, []string{"daemon/brief/a.go:3: daemon/brief uses http.ResponseWriter"}},
	}
	for rule, pairs := range forbidden() {
		for _, p := range pairs {
			list = append(list, fixture{"imports", p[0] + " to " + strings.ReplaceAll(p[1], "/", "."), importing(p[0], p[1]),
				[]string{"from.go:2: " + p[0] + " imports " + p[1] + " (" + rule + ": "}})
		}
	}
	return list
}

// TestEveryImportRuleHasFixtures keeps the table above whole.
func TestEveryImportRuleHasFixtures(t *testing.T) {
	t.Parallel()
	rules := importRules()
	for _, r := range rules {
		if len(forbidden()[r.name]) == 0 {
			t.Errorf("no fixture breaches rule %q", r.name)
		}
		if r.why == "" || r.instead == "" || len(r.never) == 0 && !r.stdOnly {
			t.Errorf("rule %q forbids nothing, or does not say why or what instead", r.name)
		}
	}
	for name := range forbidden() {
		if !slices.ContainsFunc(rules, func(r importRule) bool { return r.name == name }) {
			t.Errorf("fixtures breach rule %q, which does not exist", name)
		}
	}
}
