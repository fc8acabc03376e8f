package quota

// Charge is what the decoded terms of a message have taken of an account, until the
// message has been handled. The zero value takes nothing.
type Charge struct {
	of   *Account
	size int64
}

// NewCharge returns a charge of 0 bytes.
func NewCharge(of *Account) Charge { return Charge{of: of} }

// Size returns the bytes that are charged.
func (c *Charge) Size() int64 { return c.size }

// Grow charges n bytes more. It gives bytes back where n is negative.
func (c *Charge) Grow(n int64) error {
	if n < 0 {
		c.of.Give(Terms, -n)
	} else if err := c.of.Take(Terms, n); err != nil {
		return err
	}
	c.size += n
	return nil
}

// Settle gives everything back. It is called once for each message.
func (c Charge) Settle() { c.of.Give(Terms, c.size) }
