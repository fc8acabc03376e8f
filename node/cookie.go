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

// cookieLetters is how long a cookie is that is made here: 150 bits.
const cookieLetters = 32

// cookie finds the cookie of the cluster, as Erlang does, and makes that of this user
// where there is none.
func (c *Config) cookie() (string, error) {
	if c.Cookie != "" {
		return c.Cookie, nil
	}
	file := c.CookieFile
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%w: %v; give one with --cookie-file", ErrCookie, err)
		}
		file = filepath.Join(home, ".erlang.cookie")
		if err := c.makeCookie(file); err != nil {
			return "", fmt.Errorf("%w in %s, and none can be made there: %v; give one with --cookie-file", ErrCookie, file, err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w: %v; write one to that file, the same as on the other nodes, or leave --cookie-file out", ErrCookie, err)
	}
	cookie := strings.TrimSpace(string(b))
	if cookie == "" {
		return "", fmt.Errorf("%w: %s is empty", ErrCookie, file)
	}
	if st, err := os.Stat(file); err == nil && st.Mode()&0o077 != 0 && runtime.GOOS != "windows" {
		c.Log.Warn().Str("file", file).Msgf("others can read the cookie, and with it use this node and every other of the cluster: chmod 400 %s", file)
	}
	return cookie, nil
}

// makeCookie writes a random cookie to a file that only this user can read, unless
// the file is there. Nobody sees a part of it.
func (c *Config) makeCookie(file string) error {
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
	// Another node may have made one meanwhile: that one stays.
	switch err := os.Link(tmp.Name(), file); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	c.Log.Info().Str("file", file).Msg("there was no cookie; made one, which this user's Erlang nodes read there. Nodes of other users and machines need the same")
	return nil
}

// randomCookie is one of capital letters, as Erlang makes them.
func randomCookie() string {
	b := make([]byte, cookieLetters)
	for i := 0; i < len(b); {
		rand.Read(b[i : i+1])
		if b[i] < 26*9 { // so that all letters are equally likely
			b[i] = 'A' + b[i]%26
			i++
		}
	}
	return string(b)
}
