import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startSaml, toAcsUrl, toSpEntityId } from '../testing/saml-scene.ts'
import { sharedKey, TestIdp } from '../testing/test-idp.ts'

const notHere = 'SAML error: this sign-in was not started from this browser'

describe('responses that a browser delivers', () => {
  it('another browser, a stolen RelayState and an unsolicited response create no session and do not disturb the login', async () => {
    await using saml = await startSaml()
    const login = await saml.begin()
    const response = saml.idp.response({ requestId: login.requestId, now: saml.now() })
    const other = await saml.begin()
    for (const [what, cookie, relayState] of [
      ['no cookie', undefined, login.requestId],
      ['the cookie of another login', other.cookie, login.requestId],
      ['the cookie of this login, the state of another', login.cookie, other.requestId],
      ['no state', login.cookie, undefined],
      ['nothing at all: unsolicited', undefined, undefined],
      ['empty', '', ''],
      ['two cookies', `${login.cookie}; _ea_saml=${other.cookie}`, login.requestId],
      ['another form', 'x'.repeat(40), 'x'.repeat(40)],
    ] as const) {
      const state = relayState === undefined ? '' : `&RelayState=${relayState}`
      const answer = await saml.auth.call('POST', '/saml/r/acs', {
        body: `SAMLResponse=${encodeURIComponent(Buffer.from(response).toString('base64'))}${state}`,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(cookie === undefined ? {} : { cookie: `_ea_saml=${cookie}` }),
        },
      })
      assert.deepEqual([answer.status, answer.json?.description], [401, notHere], what)
      assert.equal(answer.headers['set-cookie'], undefined, what)
    }
    assert.equal((await saml.post(login, response)).status, 200, 'the browser that began it may still finish')
  })

  it('a response that belongs to the login of another user is refused (login forgery)', async () => {
    await using saml = await startSaml()
    const [victim, attacker] = [await saml.begin(), await saml.begin()]
    const stolen = saml.idp.response({ requestId: victim.requestId, now: saml.now() })
    const answer = await saml.post(attacker, stolen)
    assert.equal(answer.status, 401)
    assert.match(answer.json.description, /InResponseTo/)
  })

  it('a response for another realm, or for another service provider, is refused', async () => {
    await using saml = await startSaml()
    const params = { sp_acs_url: toAcsUrl('s'), sp_entity_id: toSpEntityId('s') }
    await saml.scene.realm('s', { auth_params: { saml_params: saml.params(params) } })
    const login = await saml.begin({ realm: 's' })
    const wishes = { requestId: login.requestId, now: saml.now() }
    const audiences = [[toSpEntityId('s')]]
    for (const [what, more] of [
      ['the other realm', {}],
      ['its audience alone', { acsUrl: toAcsUrl('s') }],
      ['its recipient alone', { audiences }],
      ['another service', { acsUrl: 'https://other.example/acs', audiences: [['https://other.example']] }],
    ] as const) {
      assert.equal(
        (await saml.post(login, saml.idp.response({ ...wishes, ...more }), { realm: 's' })).status,
        401,
        what,
      )
    }
    const right = saml.idp.response({ ...wishes, audiences, acsUrl: toAcsUrl('s') })
    assert.equal((await saml.post(login, right)).status, 401, 'in the realm r')
    assert.equal((await saml.post(login, right, { realm: 's' })).status, 200)
  })

  it('a second identity provider with the same entity id is refused', async () => {
    await using saml = await startSaml()
    const second = new TestIdp({ ...saml.idp, key: await sharedKey('stranger') })
    const params = {
      metadata_xml: second.metadata(),
      sp_acs_url: toAcsUrl('s'),
      sp_entity_id: toSpEntityId('s'),
    }
    await saml.scene.realm('s', { auth_params: { saml_params: saml.params(params) } })
    const login = await saml.begin()
    const wishes = { requestId: login.requestId, now: saml.now() }
    assert.equal((await saml.post(login, second.response(wishes))).status, 401)
    assert.equal((await saml.post(login, saml.idp.response(wishes))).status, 200)
  })

  it('malformed and oversized forms, and other content types, are refused first', async () => {
    await using saml = await startSaml()
    const login = await saml.begin()
    const form = 'application/x-www-form-urlencoded'
    const send = async (body: string, type: string | undefined = form): Promise<number> => {
      const headers = {
        cookie: `_ea_saml=${login.cookie}`,
        ...(type === undefined ? {} : { 'content-type': type }),
      }
      return (await saml.auth.call('POST', '/saml/r/acs', { body, headers })).status
    }
    assert.equal(await send('{}', 'application/json'), 415)
    assert.equal(await send('x', 'multipart/form-data; boundary=x'), 415)
    assert.equal(await send(`RelayState=a&RelayState=b`), 400)
    assert.equal(await send('a&'.repeat(100)), 400)
    assert.equal(await send(`SAMLResponse=${'A'.repeat(262_144)}`), 413)
    assert.equal(await send(`SAMLResponse=%zz&RelayState=${login.requestId}`, `${form}; charset=utf-8`), 401)
    assert.equal(await send(''), 401)
  })

  it('values that are not a SAML 2.0 response are refused and never logged', async () => {
    await using saml = await startSaml()
    const login = await saml.begin()
    const wishes = { requestId: login.requestId, now: saml.now(), nameId: 'secret-name' }
    const response = saml.idp.response(wishes)
    for (const xml of [
      response.replaceAll('Response', 'LogoutResponse'),
      response.replace('Version="2.0"', 'Version="1.1"'),
      saml.idp.metadata(),
      response.replace('<saml:Subject>', '<saml:Subject><!---->'),
    ])
      assert.equal((await saml.post(login, xml)).status, 401)
    assert.ok(!JSON.stringify([saml.auth.events, saml.auth.logged]).includes('secret-name'))
  })
})
