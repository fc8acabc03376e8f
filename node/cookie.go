package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// cookieLetters is the length of a cookie that is created here: 150 bits.
const cookieLetters = 32

// findCookie returns the cookie of the cluster, as Erlang finds it. If this user has none,
// it creates one.
func (c *Config) findCookie() (string, error) {
	if c.Cookie != "" {
		return c.Cookie, nil
	}
	file := c.CookieFile
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%w: %v: give a file with --cookie-file", ErrCookie, err)
		}
		file = filepath.Join(home, ".erlang.cookie")
		if err := c.createCookie(file); err != nil {
			return "", fmt.Errorf("%w in %s, and none can be created there: %v: give a file with --cookie-file", ErrCookie, file, err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w: %v: write the cookie of the cluster to that file, or leave --cookie-file out", ErrCookie, err)
	}
	cookie := strings.TrimSpace(string(b))
	if cookie == "" {
		return "", fmt.Errorf("%w: %s is empty: write the cookie of the cluster to it", ErrCookie, file)
	}
	if st, err := os.Stat(file); err == nil && st.Mode()&0o077 != 0 && runtime.GOOS != "windows" {
		c.Log.Warn().Str("file", file).Msgf("other users can read the cookie, and with it control every node of the cluster: run chmod 400 %s", file)
	}
	return cookie, nil
}

// createCookie writes a random cookie to a file that only this user can read, unless the
// file exists. Another process sees all of it or nothing.
func (c *Config) createCookie(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".erlang.cookie-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(randomCookie())
	if err := errors.Join(err, tmp.Chmod(0o400), tmp.Close()); err != nil {
		return err
	}
	// If another node has created the file meanwhile, that one stays.
	switch err := os.Link(tmp.Name(), file); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	c.Log.Info().Str("file", file).Msg("created a cookie, which all Erlang nodes of this user read; copy it to other users and machines of the cluster")
	return nil
}

// randomCookie returns a cookie of capital letters, as Erlang makes them.
func randomCookie() string {
	b := make([]byte, cookieLetters)
	for i := 0; i < len(b); {
		rand.Read(b[i : i+1])
		if b[i] < 26*9 { // all letters are equally likely
			b[i] = 'A' + b[i]%26
			i++
		}
	}
	return string(b)
}
