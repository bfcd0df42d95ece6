package provider

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// users is how many records are kept: ids 1 to users.
const users = 1000

// ErrRedis says that Redis did not answer when the provider was made.
var ErrRedis = errors.New("redis does not answer")

// errNoUser says that there is no record of an id.
var errNoUser = errors.New("no such user")

// store reads records from Redis.
type store struct {
	client  *redis.Client
	standIn *miniredis.Miniredis // nil where Redis is a process of its own
}

// reach bounds the first contact with Redis.
const reach = 5 * time.Second

func openStore(ctx context.Context, c Config) (*store, error) {
	s := &store{}
	addr := c.Redis
	if c.Embedded {
		standIn, err := miniredis.Run()
		if err != nil {
			return nil, fmt.Errorf("embedded redis: %w", err)
		}
		s.standIn, addr = standIn, standIn.Addr()
	}
	s.client = redis.NewClient(&redis.Options{Addr: addr, PoolSize: c.Connections, MaxIdleConns: c.Connections, MaxRetries: -1, DialerRetries: 1,
		// A call ends by its own deadline; filling the store, which takes longer, by reach.
		ContextTimeoutEnabled: true, ReadTimeout: max(c.Timeout, reach), WriteTimeout: max(c.Timeout, reach), DisableIdentity: true})
	ctx, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	if err := s.seed(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w at %s: %w", ErrRedis, addr, err), s.close())
	}
	return s, nil
}

func (s *store) close() error {
	err := s.client.Close()
	if s.standIn != nil {
		s.standIn.Close()
	}
	return err
}

// seed writes every record, so that a Redis that has just been started holds them.
func (s *store) seed(ctx context.Context) error {
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for id := uint64(1); id <= users; id++ {
			r := recordOf(id)
			p.HSet(ctx, key(id), "name", r.Name, "email", r.Email, "city", r.City, "level", r.Level, "since", r.Since)
		}
		return nil
	})
	return err
}

func key(id uint64) string { return "user:" + strconv.FormatUint(id, 10) }

// user reads one record.
func (s *store) user(ctx context.Context, id uint64) (record, error) {
	fields, err := s.client.HGetAll(ctx, key(id)).Result()
	if err != nil {
		return record{}, fmt.Errorf("redis: %w", err)
	}
	if len(fields) == 0 {
		return record{}, fmt.Errorf("%w: %d", errNoUser, id)
	}
	r := record{ID: id, Name: fields["name"], Email: fields["email"], City: fields["city"], Since: fields["since"]}
	if r.Level, err = strconv.Atoi(fields["level"]); err != nil {
		return record{}, fmt.Errorf("record of user %d: level: %w", id, err)
	}
	return r, nil
}
