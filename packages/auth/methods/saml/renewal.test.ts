import assert from 'node:assert/strict'
import { it } from 'node:test'
import { encryptAssertion } from './testing/encrypt.ts'
import { startSaml } from './testing/saml-scene.ts'
import { splitParts } from './testing/validator.ts'

const own = { saml_sp_key_files: [], saml_sp_certificate_files: [] }

it('during a rotation both keys of the service provider are published and decrypt, and one signs', async () => {
  await using saml = await startSaml({}, { config: own })
  const { asSuper } = saml.scene
  const [first] = (await asSuper('GET', '/admins/saml/keys')).json
  assert.deepEqual([first.generation, first.state], [1, 'signing'])
  const made = await asSuper('POST', '/admins/saml/keys', { signs_after_seconds: 1000 })
  assert.deepEqual([made.status, made.json.generation, made.json.state], [201, 2, 'next'])
  assert.equal((await asSuper('POST', '/admins/saml/keys', {})).status, 409, 'one at a time')
  const published = async (): Promise<number> =>
    (await saml.auth.call('GET', '/saml/r/metadata')).text.match(/use="signing"/g)?.length ?? 0
  assert.equal(await published(), 2)
  // Identity providers that use only one key use the last one: it must be a key that already signs.
  const last = async (use: string): Promise<string | undefined> => {
    const { text } = await saml.auth.call('GET', '/saml/r/metadata')
    const keys = [...text.matchAll(/use="(\w+)">\s*<ds:KeyInfo><ds:X509Data><ds:X509Certificate>([^<]+)</g)]
    return keys.filter(([, found]) => found === use).at(-1)?.[2]
  }
  const der = (pem: string): string => pem.replaceAll(/-----[^-]+-----|\s/g, '')
  for (const use of ['signing', 'encryption']) assert.equal(await last(use), der(first.certificate))
  const signing = async () => (await saml.auth.services.spKeys.list())[0].certificate
  assert.equal(await signing(), first.certificate)
  saml.auth.clock.advance(1000)
  assert.equal(await signing(), made.json.certificate)
  for (const use of ['signing', 'encryption']) assert.equal(await last(use), der(made.json.certificate))
  const states = (await asSuper('GET', '/admins/saml/keys')).json.map(({ state }: { state: string }) => state)
  assert.deepEqual(states, ['signing', 'previous'])
  const encrypted = async (certificate: string): Promise<number> => {
    const login = await saml.begin()
    const xml = saml.idp.response({ requestId: login.requestId, now: saml.now() })
    const { assertion } = splitParts(xml)
    return (await saml.post(login, xml.replace(assertion, encryptAssertion(assertion, { certificate }))))
      .status
  }
  assert.equal(await encrypted(first.certificate), 200, 'an identity provider that has not looked yet')
  assert.equal(await encrypted(made.json.certificate), 200)
  assert.equal((await asSuper('DELETE', '/admins/saml/keys/2')).status, 409, 'the one that signs')
  assert.equal((await asSuper('DELETE', '/admins/saml/keys/1')).status, 204)
  assert.equal(await published(), 1)
  assert.equal(await encrypted(first.certificate), 401)
})

it('only super administrators manage keys, and configured files have no next key', async () => {
  await using saml = await startSaml()
  const { admin, user, realm, logIn, as, asSuper } = saml.scene
  await realm('s')
  await user('s', 'chief')
  await admin('chief', ['s'], { userpass: 'chief' })
  const chief = await logIn('s', 'chief')
  for (const [method, path] of [
    ['GET', '/admins/saml/keys'],
    ['POST', '/admins/saml/keys'],
    ['DELETE', '/admins/saml/keys/1'],
  ] as const) {
    assert.equal((await as(chief, method, path)).status, 403)
    assert.equal((await asSuper(method, path)).status, 409, 'saml_sp_key_files')
  }
})
