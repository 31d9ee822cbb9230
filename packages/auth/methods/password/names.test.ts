import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../../testing/scene.ts'
import { knownHash, startAuth } from '../../testing/start.ts'
import { credentialInsertion } from './credential-store.ts'

const spoiled = ['.', '..', 'a\u202eb', '\u200bann', 'ann\u00ad', '\u2066ann\u2069', 'a\u2028b', 'a\u0007b']

describe('names that are invisible or cannot be used in a path', () => {
  it('are refused for new users, administrators, subjects, roles and policies', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm } = scene(auth)
    const idp = { jwt_issuer_uri: 'https://idp.example', jwks_uri: 'https://idp.example/keys' }
    await realm('r', {
      auth_params: {
        username_password_params: { allow_expired_passwords: false },
        jwt_params: { idp_params: [idp] },
      },
    })
    const password_input = { hashed: knownHash }
    for (const name of spoiled) {
      const calls = {
        user: await asSuper('POST', '/realms/r/userpass', { username: name, password_input }),
        role: await asSuper('POST', '/realms/r/userpass', { username: 'x', password_input, roles: [name] }),
        admin: await asSuper('POST', '/admins', { id: name, realms: ['r'] }),
        'TOTP of a subject': await asSuper('POST', '/realms/r/totp/generate', { username: name }),
        policy: await asSuper('POST', '/auth/approle/role/x', { token_policies: [name] }),
      }
      for (const [what, { status }] of Object.entries(calls))
        assert.equal(status, 400, `${what} ${JSON.stringify(name)}`)
      const role = await asSuper('POST', `/auth/approle/role/${encodeURIComponent(name)}`, {})
      assert.equal(role.status, 400, `role of machines ${JSON.stringify(name)}`)
      const subject = `/realms/r/jwt-subjects/${encodeURIComponent(name)}`
      assert.equal((await asSuper('PUT', subject, { jwt_issuer_uri: idp.jwt_issuer_uri })).status, 400)
    }
    assert.deepEqual((await asSuper('GET', '/realms/r/userpass')).json, [])
  })

  it('do not lock out existing users: they are listed, can log in, and can be deleted', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm } = scene(auth)
    await realm('r')
    const older = {
      realm: 'r',
      passwordHash: knownHash,
      changePassword: false,
      roles: [],
      extraClaims: undefined,
    }
    for (const username of ['.', '..', 'a\u202eb']) {
      await auth.db.commit([credentialInsertion({ ...older, username })])
      const path = `/realms/r/userpass/${encodeURIComponent(username)}`
      assert.equal((await asSuper('GET', path)).json.username, username)
      assert.equal(
        (await auth.call('POST', '/login?realm=r', { basic: `${username}:correct horse` })).status,
        200,
      )
      assert.equal((await asSuper('PUT', path, { change_password: true })).status, 200)
      assert.equal((await asSuper('DELETE', path)).status, 204)
      assert.equal((await asSuper('GET', path)).status, 404)
    }
  })
})
