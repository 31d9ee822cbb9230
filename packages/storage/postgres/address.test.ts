import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartupError } from '@warder/base'
import { parsePostgresUrl } from './address.ts'

const listHosts = (url: string) => parsePostgresUrl(url).hosts.map(({ host, port }) => `${host} ${port}`)

test('an address names one host or several, with a port each', () => {
  for (const [url, hosts] of [
    ['postgresql://h/d', ['h undefined']],
    ['postgres://u@h:5433/d', ['h 5433']],
    ['postgresql:///d', ['undefined undefined']],
    ['postgresql://a:1,b:2,c/d', ['a 1', 'b 2', 'c undefined']],
    ['postgresql://[::1]:5,[fe80::1%25eth0]/d', ['::1 5', 'fe80::1%25eth0 undefined']],
    ['postgresql://%2Frun%2Fpg/d', ['/run/pg undefined']],
    ['postgresql:///d?host=a,b&port=1,2', ['a 1', 'b 2']],
    ['postgresql:///d?host=a,b&port=7', ['a 7', 'b 7']],
    ['postgresql:///d?host=/run/pg', ['/run/pg undefined']],
  ] as const)
    assert.deepEqual(listHosts(url), hosts, url)
})

test('user, password and database are percent-decoded, and parameters win', () => {
  const { user, password, database } = parsePostgresUrl('postgresql://a%40b:p%3Aq%2F@h/my%20db')
  assert.deepEqual([user, password, database], ['a@b', 'p:q/', 'my db'])
  const told = parsePostgresUrl('postgresql://h?user=u&password=a%26b&dbname=d&options=-c%20x%3D1')
  assert.deepEqual([told.user, told.password, told.database, told.options], ['u', 'a&b', 'd', '-c x=1'])
})

test('of several hosts the one that writes is wanted, unless the address says otherwise', () => {
  for (const [url, target] of [
    ['postgresql://a/d', 'any'],
    ['postgresql://a,b/d', 'read-write'],
    ['postgresql://a,b/d?target_session_attrs=any', 'any'],
    ['postgresql://a/d?target_session_attrs=read-write', 'read-write'],
    ['postgresql://a,b/d?target_session_attrs=primary', 'primary'],
  ] as const)
    assert.equal(parsePostgresUrl(url).target, target, url)
})

test('sslmode says what the server has to prove, never less than libpq', () => {
  for (const [query, verify] of [
    ['', undefined],
    ['sslmode=disable', 'plain'],
    ['ssl=0', 'plain'],
    ['sslmode=no-verify', 'none'],
    ['sslmode=require', 'full'],
    ['ssl=true', 'full'],
    ['sslmode=verify-ca&sslrootcert=ca.crt', 'chain'],
    ['sslmode=verify-full', 'full'],
    ['sslrootcert=ca.crt', 'full'],
    ['sslrootcert=system', 'full'],
    ['sslnegotiation=direct', 'full'],
  ] as const)
    assert.equal(parsePostgresUrl(`postgresql://h/d?${query}`).ssl.verify, verify, query)
})

test('what cannot be kept is refused, without a word of the address', () => {
  for (const [url, reason] of [
    ['postgresql:h', /must be postgresql:/],
    ['postgresql://u:secret@h:x/d', /port that is not a number/],
    ['postgresql://u:secret@h:0/d', /port that is not a number/],
    ['postgresql://u:secret@h:65536/d', /port that is not a number/],
    ['postgresql://u:secret@a,,b/d', /host without a name/],
    ['postgresql://u:secret@::1/d', /IPv6 address needs \[\]|port that is not a number/],
    ['postgresql://u:sec%ret@h/d', /% without two hexadecimal digits/],
    ['postgresql://u:secret@a/d?host=b', /both before and after/],
    ['postgresql:///d?host=a,b,c&port=1,2&password=secret', /3 hosts and 2 ports/],
    [
      'postgresql://u:secret@h/d?sslmodus=disable',
      /unknown parameter 'sslmodus'; known parameters: .*sslmode/,
    ],
    ['postgresql://u:secret@h/d?sslmode=require&sslmode=disable', /has the parameter sslmode twice/],
    ['postgresql://u:secret@h/d?sslmode=prefer', /attacker on the network to force plain text/],
    ['postgresql://u:secret@h/d?sslmode=full', /must be one of disable/],
    ['postgresql://u:secret@h/d?sslmode=constructor', /must be one of disable/],
    ['postgresql://u:secret@h/d?sslmode=verify-ca', /needs sslrootcert/],
    ['postgresql://u:secret@h/d?sslmode=disable&sslrootcert=x', /contradicts/],
    ['postgresql://u:secret@h/d?sslmode=no-verify&sslrootcert=x', /contradicts/],
    ['postgresql://u:secret@h/d?sslcert=x', /given together/],
    ['postgresql://u:secret@h/d?sslnegotiation=none', /postgres or direct/],
    ['postgresql://u:secret@h/d?target_session_attrs=standby', /read-write, primary or any/],
    ['postgresql://u:secret@h/d?connect_timeout=0', /from 1 to 999/],
    [`postgresql://u:secret@${'h,'.repeat(16)}h/d`, /more than 16/],
  ] as const)
    assert.throws(
      () => parsePostgresUrl(url),
      (error: unknown) => {
        assert.ok(error instanceof StartupError, `${url}: ${error}`)
        assert.match(error.message, reason, url)
        assert.doesNotMatch(error.message, /sec%?ret/)
        return true
      },
      url,
    )
})
