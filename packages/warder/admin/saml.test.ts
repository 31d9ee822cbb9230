import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { samlParams, sharedKey, TestIdp, toAcsUrl, toSpEntityId } from '@warder/auth/testing'
import { runWarder, startInstallation, temporaryHome } from '../testing/installation.ts'

it('warder admin saml tells what an identity provider has to know, and which check a response fails', async () => {
  const home = temporaryHome()
  const warder = await startInstallation({ home })
  const auth = warder.client('auth')
  try {
    const idp = new TestIdp({
      key: await sharedKey('idp'),
      spEntityId: toSpEntityId('shop'),
      acsUrl: toAcsUrl('shop'),
    })
    const realm = {
      id: 'shop',
      auth_params: { saml_params: samlParams(idp, 'shop', { role_attribute: 'groups' }) },
      session_max_age_seconds: 3600,
      session_max_stale_age_seconds: 600,
    }
    const headers = { cookie: `_ea_=${await warder.adminToken()}` }
    assert.equal((await auth.ask('/admins/realms', { json: realm, headers })).status, 201)
    const run = (...words: string[]) => runWarder(['admin', ...words, '--home', home])
    assert.match((await run('realms')).out, /^shop +SAML /m)
    const shown = await run('saml', 'show', 'shop')
    assert.equal(shown.code, 0, shown.err)
    assert.match(shown.out, /^Enter at the identity provider https:\/\/idp\.example\/metadata:$/m)
    assert.match(shown.out, /^Metadata +https:\/\/auth\.example\/saml\/shop\/metadata$/m)
    assert.match(shown.out, /^Entity ID +https:\/\/auth\.example\/saml\/shop$/m)
    assert.match(shown.out, /^[0-9a-f]{64} +\d{4}-/m)

    const file = join(home, 'response')
    const test = async (content: string): Promise<string> => {
      writeFileSync(file, content)
      const { code, out, err } = await run('saml', 'test', 'shop', '--response', file)
      assert.equal(code, 0, err)
      return out.trim()
    }
    const wishes = { requestId: '_x', now: 1_700_000_000, attributes: { groups: ['a', 'b'] } }
    const right = idp.response(wishes)
    assert.equal(await test(right), 'accepted: ann with roles a, b (attributes: groups)')
    assert.equal(
      await test(Buffer.from(right).toString('base64')),
      'accepted: ann with roles a, b (attributes: groups)',
    )
    const form = new URLSearchParams({
      RelayState: '_x',
      SAMLResponse: Buffer.from(right).toString('base64'),
    })
    assert.equal(await test(`${form}\n`), 'accepted: ann with roles a, b (attributes: groups)')
    const elsewhere = idp.response({ ...wishes, audiences: [['https://other.example']] })
    assert.equal(
      await test(elsewhere),
      'refused, check audience: assertion is not addressed to this service provider',
    )

    for (const words of [
      ['saml'],
      ['saml', 'show'],
      ['saml', 'test', 'shop'],
      ['saml', 'show', 'shop', '--response', file],
      ['saml', 'x', 'shop'],
    ])
      assert.match((await run(...words)).err, /warder admin saml show REALM, or/)
    assert.match((await run('saml', 'show', '_')).err, /the realm _ does not use SAML/)
    assert.match((await run('saml', 'test', 'shop', '--response', `${file}x`)).err, /cannot read/)
  } finally {
    auth.close()
    await warder.stop()
    rmSync(home, { recursive: true, force: true })
  }
})
