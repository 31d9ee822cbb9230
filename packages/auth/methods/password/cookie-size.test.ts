import assert from 'node:assert/strict'
import { it } from 'node:test'
import { scene } from '../../testing/scene.ts'
import { knownHash, startAuth } from '../../testing/start.ts'

/** RFC 6265 §6.1: a browser keeps a cookie of 4096 bytes, name, value and attributes together. */
it('extra claims that make the session cookie larger than 4096 bytes are refused when they are set (issue 13 item 16)', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { asSuper, realm } = scene(auth)
  await realm('r')
  const create = (username: string, size: number, roles: string[] = []) =>
    asSuper('POST', '/realms/r/userpass', {
      username,
      roles,
      password_input: { hashed: knownHash },
      extra_claims: { note: 'x'.repeat(size) },
    })
  let [fits, tooLarge] = [0, 4000]
  while (tooLarge - fits > 1) {
    const size = Math.floor((fits + tooLarge) / 2)
    const { status, text } = await create(`user${size}`, size)
    if (status === 201) fits = size
    else tooLarge = size
    if (status !== 201) assert.match(text, /cookie would have \d+ bytes/)
  }
  const login = await auth.call('POST', '/login?realm=r', { basic: `user${fits}:correct horse` })
  const [cookie = ''] = login.headers['set-cookie'] ?? []
  assert.ok(cookie.length <= 4096, String(cookie.length))
  assert.ok(
    cookie.length > 4096 - 12,
    `it is the largest that fits, but for the digits of its age: ${cookie.length}`,
  )

  assert.equal((await create('boss', fits, ['a role'])).status, 400, 'the roles stand in the same cookie')
  const path = `/realms/r/userpass/user${fits}`
  const put = (extra_claims: unknown) => asSuper('PUT', path, { extra_claims })
  assert.equal((await put({ note: 'x'.repeat(tooLarge) })).status, 400)
  assert.equal((await asSuper('GET', path)).json.extra_claims.note.length, fits, 'nothing changed')
  assert.equal((await put({ note: 'x'.repeat(fits) })).status, 200)
})
