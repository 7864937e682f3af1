package command

import (
	"errors"
	"slices"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
)

// settings is the configuration of a run, read when it is first asked for.
type settings struct {
	lookupEnv func(string) (string, bool)
	flags     *Flags
	profile   string         // in place of the one that is set, "" for that
	holds     *config.Config // nil until it was read
}

// paths are the places of the configuration.
func (s *settings) paths() (config.Paths, error) {
	return config.Locate(s.lookupEnv, s.flags.ConfigFile)
}

// config is the configuration that holds.
func (s *settings) config() (*config.Config, error) {
	if s.holds != nil {
		return s.holds, nil
	}
	paths, err := s.paths()
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	c, err := config.Load(paths, s.lookupEnv, s.flags.set, s.profile)
	if wrong, ok := errors.AsType[*config.ValueError](err); ok {
		return nil, cli.Invalid("%w", err).WithHint("%s", wrong.Next())
	}
	if err != nil {
		return nil, cli.Invalid("%w", err).WithHint("ctx config edit, or --config FILE for another file")
	}
	s.holds = c
	return c, nil
}

// forget has the configuration read again when it is next asked for.
func (s *settings) forget() { s.holds = nil }

// setHere writes a setting for the profile in use: into the profile, or at the top of the file for the one that is not in it.
func (s *settings) setHere(name, value string) error {
	c, err := s.config()
	if err != nil {
		return err
	}
	profile := c.Profile()
	if profile == config.DefaultProfile && !slices.Contains(c.Profiles, profile) {
		profile = ""
	}
	s.forget()
	return c.Set(profile, name, value)
}

// pack is the pack a command is about: the argument, if there is one, or the configured one.
func (s *settings) pack(args []string) (string, error) {
	if len(args) > 0 && args[0] != "" {
		return args[0], nil
	}
	c, err := s.config()
	if err != nil {
		return "", err
	}
	return c.Get(config.Pack).Text, nil
}
