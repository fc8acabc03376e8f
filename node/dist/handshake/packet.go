package handshake

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHandshakePacket is far above the longest packet with the longest name.
const maxHandshakePacket = 2048

// lengthSize is the size of the length of a packet of the handshake: two bytes, but inside
// TLS four like that of every packet after it.
func lengthSize(c net.Conn) int {
	if _, ok := c.(*tls.Conn); ok {
		return 4
	}
	return 2
}

// readPacket reads one packet of the handshake and not a byte more.
func readPacket(c net.Conn) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[4-lengthSize(c):]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n == 0 || n > maxHandshakePacket {
		return nil, fmt.Errorf("%w: packet of %d bytes", ErrMalformed, n)
	}
	p := make([]byte, n)
	if _, err := io.ReadFull(c, p); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return p, nil
}

func writePacket(c net.Conn, p []byte) error {
	packet := binary.BigEndian.AppendUint32(nil, uint32(len(p)))[4-lengthSize(c):]
	_, err := c.Write(append(packet, p...))
	return err
}

func readStatus(c net.Conn) (string, error) {
	p, err := readPacket(c)
	if err != nil {
		return "", fmt.Errorf("read status: %w", err)
	}
	if p[0] != 's' {
		return "", fmt.Errorf("%w: status", ErrMalformed)
	}
	return string(p[1:]), nil
}

// appendName is send_name of version 6.
func appendName(p []byte, id Identity) []byte {
	p = binary.BigEndian.AppendUint64(append(p, 'N'), id.Flags)
	p = binary.BigEndian.AppendUint32(p, id.Creation)
	p = binary.BigEndian.AppendUint16(p, uint16(len(id.Name)))
	return append(p, id.Name...)
}

// parseName reads send_name of version 6 or, with old set, of version 5.
func parseName(p []byte) (id Identity, old bool, err error) {
	switch {
	case len(p) >= 15 && p[0] == 'N':
		id.Flags = binary.BigEndian.Uint64(p[1:])
		id.Creation = binary.BigEndian.Uint32(p[9:])
		id.Name, err = parseNodeName(p[13:])
		return id, false, err
	case len(p) > 7 && p[0] == 'n':
		id.Flags = uint64(binary.BigEndian.Uint32(p[3:]))
		id.Name = string(p[7:])
		return id, true, CheckName(id.Name)
	}
	return id, false, fmt.Errorf("%w: name", ErrMalformed)
}

// appendChallenge is send_challenge of version 6.
func appendChallenge(p []byte, id Identity, challenge uint32) []byte {
	p = binary.BigEndian.AppendUint64(append(p, 'N'), id.Flags)
	p = binary.BigEndian.AppendUint32(p, challenge)
	p = binary.BigEndian.AppendUint32(p, id.Creation)
	p = binary.BigEndian.AppendUint16(p, uint16(len(id.Name)))
	return append(p, id.Name...)
}

func parseChallenge(p []byte) (id Identity, challenge uint32, err error) {
	if len(p) < 19 || p[0] != 'N' {
		return id, 0, fmt.Errorf("%w: challenge", ErrMalformed)
	}
	id.Flags = binary.BigEndian.Uint64(p[1:])
	challenge = binary.BigEndian.Uint32(p[9:])
	id.Creation = binary.BigEndian.Uint32(p[13:])
	id.Name, err = parseNodeName(p[17:])
	return id, challenge, err
}

// readComplement reads what the old form of the name leaves out.
func readComplement(c net.Conn, peer *Identity) error {
	p, err := readPacket(c)
	if err != nil {
		return fmt.Errorf("read complement: %w", err)
	}
	if len(p) != 9 || p[0] != 'c' {
		return fmt.Errorf("%w: complement", ErrMalformed)
	}
	peer.Flags |= uint64(binary.BigEndian.Uint32(p[1:])) << 32
	peer.Creation = binary.BigEndian.Uint32(p[5:])
	return nil
}

func parseReply(p []byte) (challenge uint32, digest [16]byte, err error) {
	if len(p) != 21 || p[0] != 'r' {
		return 0, digest, fmt.Errorf("%w: challenge reply", ErrMalformed)
	}
	return binary.BigEndian.Uint32(p[1:]), [16]byte(p[5:]), nil
}

// parseNodeName reads a name behind its length. Bytes after it belong to later
// versions and are ignored, as the protocol asks.
func parseNodeName(p []byte) (string, error) {
	n := int(binary.BigEndian.Uint16(p))
	if n > len(p)-2 {
		return "", fmt.Errorf("%w: node name", ErrMalformed)
	}
	name := string(p[2 : 2+n])
	return name, CheckName(name)
}

func CheckName(name string) error {
	short, host, ok := strings.Cut(name, "@")
	if !ok || short == "" || host == "" || strings.Contains(host, "@") ||
		!utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || utf8.RuneCountInString(name) > 255 {
		return fmt.Errorf("%w: node name %.40q", ErrMalformed, name)
	}
	return nil
}
