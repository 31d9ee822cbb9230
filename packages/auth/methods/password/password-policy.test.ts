import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../../testing/scene.ts'
import { knownHash, startAuth, type TestService } from '../../testing/start.ts'

const sent = (auth: TestService) => {
  const { asSuper } = scene(auth)
  return {
    create: async (username: string, plaintext: string) =>
      asSuper('POST', '/realms/r/userpass', { username, password_input: { plaintext } }),
    replace: async (plaintext: string) =>
      asSuper('PUT', '/realms/r/userpass/ann', { password_input: { plaintext } }),
  }
}

describe('passwords that administrators set in plain text', () => {
  it('follow no rule unless configured, but are never empty', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    await scene(auth).realm('r')
    const { create, replace } = sent(auth)
    assert.equal((await create('ann', 'a')).status, 201)
    assert.equal((await replace('ann')).status, 200)
    assert.equal((await create('bob', '')).status, 400)
    assert.equal((await replace('')).status, 400)
  })

  it('follow the configured policy: length in characters, neither the username nor a common password', async () => {
    const config = {
      'admin_password_policy.minimum_length': 12,
      'admin_password_policy.refuse_common': true,
    }
    await using auth = await startAuth({ adminPassword: 'correct horse', config })
    const { realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const { create, replace } = sent(auth)
    for (const [username, password, reason] of [
      ['bob', '', /must not be empty/],
      ['bob', 'eleven chars'.slice(0, 11), /at least 12 characters/],
      ['bob', '𝒳'.repeat(11), /at least 12 characters/],
      ['bob', 'e\u0301'.repeat(11), /at least 12 characters/],
      ['Bob the builder', 'bob the BUILDER', /must not be the username/],
      ['bob', 'Password1234', /most common/],
    ] as const) {
      const answer = await create(username, password)
      assert.equal(answer.status, 400, password)
      assert.match(answer.json.description, /^password_input.plaintext: /)
      assert.match(answer.json.description, reason)
    }
    assert.equal((await replace('Password1234')).status, 400)
    assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })).status, 200)
    assert.equal((await replace('eleven chars and more')).status, 200)
    assert.equal((await create('bob', 'another one of them')).status, 201)
    const hashed = { username: 'carl', password_input: { hashed: knownHash } }
    assert.equal((await scene(auth).asSuper('POST', '/realms/r/userpass', hashed)).status, 201)
  })

  it('follow the policy also for the first administrator', async () => {
    const config = { 'admin_password_policy.refuse_common': true }
    await assert.rejects(startAuth({ adminPassword: 'letmein', config }), /WARDER_ADMIN_PASSWORD: is among/)
  })
})
