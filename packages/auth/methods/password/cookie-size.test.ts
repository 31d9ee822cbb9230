import assert from 'node:assert/strict'
import { it } from 'node:test'
import { scene } from '../../testing/scene.ts'
import { knownHash, startAuth } from '../../testing/start.ts'

/** RFC 6265 §6.1: a browser keeps a cookie of 4096 bytes, name, value and attributes together. */
it('extra claims of exactly 4 KiB are accepted, with a warning that browsers drop the cookie', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { as, asSuper, realm } = scene(auth)
  await realm('r')
  const claims = (bytes: number) => ({ note: 'x'.repeat(bytes - '{"note":""}'.length) })
  const create = (username: string, bytes: number, roles: string[] = []) =>
    asSuper('POST', '/realms/r/userpass', {
      username,
      roles,
      password_input: { hashed: knownHash },
      extra_claims: claims(bytes),
    })
  const largest = await create('ann', 4096)
  assert.equal(largest.status, 201, largest.text)
  assert.match(
    largest.json.warnings[0],
    /^The session cookie has \d{4} bytes, but browsers store at most 4096/,
  )
  const refused = await create('bob', 4097)
  assert.equal(refused.status, 400)
  assert.match(refused.text, /extra_claims: must not exceed 4096 bytes/)

  const login = await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })
  const [cookie = ''] = login.headers['set-cookie'] ?? []
  assert.ok(cookie.length > 4096)
  const value = /^_ea_=([^;]+)/.exec(cookie)?.[1] ?? ''
  assert.equal(
    (await as(value, 'GET', '/whoami')).json.note.length,
    4085,
    'a client that stores the cookie is logged in',
  )

  const path = '/realms/r/userpass/ann'
  const { warnings, ...kept } = largest.json
  assert.deepEqual((await asSuper('GET', path)).json, kept)
  // A reply may be sent back as a request.
  assert.equal((await asSuper('PUT', path, largest.json)).json.warnings.length, 1)
  const small = await asSuper('PUT', path, { ...largest.json, extra_claims: claims(1000) })
  assert.equal(small.status, 200)
  assert.equal('warnings' in small.json, false)
  const roles = Array.from({ length: 100 }, (_, index) => `a role of many letters, number ${index}`)
  assert.equal((await create('boss', 20, roles)).json.warnings.length, 1, 'the roles are in the same cookie')
})
