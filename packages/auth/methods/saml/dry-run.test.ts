import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startSaml } from './testing/saml-scene.ts'

it('a captured response is checked without beginning a session, and the failing check is named', async () => {
  await using saml = await startSaml({ role_attribute: 'groups', attribute_claim_map: { mail: 'mail' } })
  const { admin, user, realm, logIn, as, asSuper } = saml.scene
  const wishes = {
    requestId: '_x',
    now: saml.now() - 86_400,
    attributes: { groups: ['a'], mail: ['m'], x: ['y'] },
  }
  const check = (xml: string, cookie?: string) => {
    const body = { saml_response: Buffer.from(xml).toString('base64') }
    const path = '/realms/r/saml/test'
    return cookie === undefined ? asSuper('POST', path, body) : as(cookie, 'POST', path, body)
  }
  const right = await check(saml.idp.response(wishes))
  assert.deepEqual(right.json, {
    accepted: true,
    check: null,
    reason: null,
    subject: 'ann',
    roles: ['a'],
    claims: { mail: 'm' },
    attributes: ['groups', 'mail', 'x'],
  })
  assert.equal(right.headers['set-cookie'], undefined)
  for (const [xml, failing] of [
    [saml.idp.response({ ...wishes, audiences: [['x']] }), 'audience'],
    [saml.idp.response({ ...wishes, nameId: null }), 'subject'],
    [saml.idp.response({ ...wishes, sign: [] }), 'signature'],
    ['<x/>', 'xml'],
    ['', 'encoding'],
  ] as const) {
    const { status, json } = await check(xml)
    assert.deepEqual([status, json.accepted, json.check, json.subject], [200, false, failing, null])
    assert.ok(json.reason.length > 5)
  }
  await realm('s')
  await user('s', 'chief')
  await admin('chief', ['s'], { userpass: 'chief' })
  assert.equal((await check('<x/>', await logIn('s', 'chief'))).status, 403)
  assert.equal((await asSuper('POST', '/realms/s/saml/test', { saml_response: 'AAAA' })).status, 400)
})
