package mail

// ServerAddr is the host and the port that mails go to.
func (s *SMTP) ServerAddr() string { return s.client.ServerAddr() }
