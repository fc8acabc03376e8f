package attack

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// patience is how long an answer may take on a busy machine.
const patience = 60 * time.Second

// capabilities are the flags that OTP 25 and later ask of a peer, with headers,
// fragments and exits with payload.
const capabilities = 0x4 | 0x10 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x1000 | 0x2000 | 0x4000 | 0x10000 |
	0x20000 | 0x40000 | 0x80000 | 0x400000 | 0x800000 | 0x1000000 | 0x2000000 | 1<<32 | 1<<33 | 1<<34 | 1<<35 | 1<<36

// peer is a socket to the node.
type peer struct {
	net.Conn
	name string
}

// dial opens a socket and says nothing.
func dial(t *testing.T, n *node, name string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", n.port))
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return &peer{Conn: c, name: name}
}

// connect is dial with the whole handshake.
func connect(t *testing.T, n *node, name string) *peer {
	t.Helper()
	p := dial(t, n, name)
	if err := p.handshake(); err != nil {
		t.Fatalf("handshake as %s: %v", name, err)
	}
	return p
}

func (p *peer) handshake() error {
	p.packet(introduction(p.name))
	status, err := p.answer()
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if string(status) == "salive" {
		p.packet([]byte("strue"))
	} else if string(status) != "sok" {
		return fmt.Errorf("status %q", status)
	}
	posed, err := p.challenge()
	if err != nil {
		return err
	}
	p.packet(reply(7, answerTo(cookie, posed)))
	ack, err := p.answer()
	if err != nil {
		return fmt.Errorf("acknowledgement: %w", err)
	}
	if want := answerTo(cookie, 7); len(ack) != 17 || !bytes.Equal(ack[1:], want) {
		return errors.New("the node does not know the cookie")
	}
	return nil
}

// challenge reads what the node poses.
func (p *peer) challenge() (uint32, error) {
	c, err := p.answer()
	if err != nil {
		return 0, fmt.Errorf("challenge: %w", err)
	}
	if len(c) < 19 || c[0] != 'N' {
		return 0, fmt.Errorf("challenge % x", c)
	}
	return binary.BigEndian.Uint32(c[9:]), nil
}

// packet writes a packet of the handshake. Whether it arrives, answers tell.
func (p *peer) packet(b []byte) {
	p.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
}

// answer reads a packet of the handshake.
func (p *peer) answer() ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(p, head[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint16(head[:]))
	_, err := io.ReadFull(p, b)
	return b, err
}

func introduction(name string) []byte {
	b := binary.BigEndian.AppendUint64([]byte{'N'}, capabilities)
	b = binary.BigEndian.AppendUint32(b, 1)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(name))), name...)
}

func reply(challenge uint32, digest []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{'r'}, challenge), digest...)
}

func answerTo(secret string, challenge uint32) []byte {
	sum := md5.Sum(fmt.Appendf(nil, "%s%d", secret, challenge))
	return sum[:]
}

// send writes one packet after the handshake.
func (p *peer) send(body []byte) error {
	_, err := p.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

// message is a packet of a control message and a payload.
func message(parts ...[]byte) []byte {
	return append([]byte{131, 'D', 0}, bytes.Join(parts, nil)...)
}

// ended reads until the node closes the connection.
func (p *peer) ended() error {
	_, err := io.Copy(io.Discard, p)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("the connection stays")
	}
	return nil
}

// info asks the node's manager, by gen_server:call, and waits for the answer.
func (p *peer) info() error {
	p.SetDeadline(time.Now().Add(patience))
	ref := bytes.Join([][]byte{{90, 0, 3}, atom(p.name), make([]byte, 16)}, nil)
	if err := p.send(message(p.to("nxvk"), call(p.pid(1), ref, atom("info")))); err != nil {
		return err
	}
	answer, err := p.next()
	if err == nil && !bytes.Contains(answer, bytes.Join([][]byte{{104, 2}, ref, {104, 2}, atom("ok")}, nil)) {
		return fmt.Errorf("the answer is %.200q", answer)
	}
	return err
}

// next reads the next message.
func (p *peer) next() ([]byte, error) {
	for {
		var head [4]byte
		if _, err := io.ReadFull(p, head[:]); err != nil {
			return nil, err
		}
		if size := binary.BigEndian.Uint32(head[:]); size > 0 {
			b := make([]byte, size)
			_, err := io.ReadFull(p, b)
			return b, err
		}
	}
}

// to is the control message of a send to a name.
func (p *peer) to(name string) []byte { return tuple(integer(6), p.pid(1), atom(""), atom(name)) }

// call is the message of gen_server:call.
func call(from, tag, request []byte) []byte {
	return tuple(atom("$gen_call"), tuple(from, tag), request)
}

// pid is that of a process of the peer.
func (p *peer) pid(id uint32) []byte {
	b := binary.BigEndian.AppendUint32(append([]byte{88}, atom(p.name)...), id)
	return append(b, 0, 0, 0, 0, 0, 0, 0, 1)
}

func (p *peer) ref(id uint32) []byte {
	b := append(append([]byte{90, 0, 1}, atom(p.name)...), 0, 0, 0, 1)
	return binary.BigEndian.AppendUint32(b, id)
}

func atom(name string) []byte { return append([]byte{119, byte(len(name))}, name...) }

func integer(n uint32) []byte { return binary.BigEndian.AppendUint32([]byte{98}, n) }

func tuple(elements ...[]byte) []byte {
	return append([]byte{104, byte(len(elements))}, bytes.Join(elements, nil)...)
}

// emptyLists is a list of n of them.
func emptyLists(n int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{108}, uint32(n))
	return append(b, strings.Repeat("j", n+1)...)
}
