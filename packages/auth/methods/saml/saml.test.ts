import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { describe, it } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { readCookie } from '../../testing/start.ts'
import { startSaml } from './testing/saml-scene.ts'
import { sharedKey } from './testing/test-idp.ts'

describe('a login at a SAML identity provider', () => {
  it('creates a session whose claims are the mapped attributes', async () => {
    await using saml = await startSaml({
      role_attribute: 'groups',
      attribute_claim_map: { mail: 'mail', department: 'dept' },
    })
    const login = await saml.begin({ returnTo: 'https://app.example/deep?x=1&y=%3C' })
    const attributes = {
      groups: ['a', 'b', 'a', ''],
      mail: ['ann@example.com'],
      department: ['x', 'y'],
      other: ['z'],
    }
    const response = saml.idp.response({ requestId: login.requestId, now: saml.now(), attributes })
    const answer = await saml.post(login, response)
    assert.equal(answer.status, 200, answer.text)
    const { sub, as_as, as_rid, roles, mail, dept, other } = (
      await saml.auth.call('GET', '/whoami?realm=r', { cookie: readCookie(answer) })
    ).json
    assert.deepEqual(
      { sub, as_as, as_rid, roles, mail, dept, other },
      {
        sub: 'ann',
        as_as: 'sa',
        as_rid: 'r',
        roles: ['a', 'b'],
        mail: 'ann@example.com',
        dept: ['x', 'y'],
        other: undefined,
      },
    )
    assert.match(
      answer.text,
      /<meta http-equiv="refresh" content="0;url=https:\/\/app\.example\/deep\?x=1&amp;y=%3C">/,
    )
    assert.match(answer.text, /<a href="https:\/\/app\.example\/deep\?x=1&amp;y=%3C">Continue<\/a>/)
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.match(String(answer.headers['content-security-policy']), /^default-src 'none'/)
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
    const [session, removed] = answer.headers['set-cookie'] ?? []
    assert.match(session ?? '', /^_ea_=[\w.-]+; HttpOnly; Secure; SameSite=Strict; Path=\/; Max-Age=3600$/)
    assert.equal(removed, '_ea_saml=; Secure; HttpOnly; SameSite=None; Path=/; Max-Age=0')
    const event = saml.auth.events.findLast(({ operation }) => operation === 'saml.acs')
    assert.deepEqual(
      [event?.principal, event?.auth_method, event?.realm, event?.outcome],
      ['ann', 'sa', 'r', 'success'],
    )
    assert.ok(
      !JSON.stringify(saml.auth.events).includes(`${saml.idp.entityId}</`),
      'no assertion is recorded',
    )
    assert.equal(saml.auth.counted.get('auth_saml_responses_total{outcome="accepted"}'), 1)
  })

  it('starts with a signed request that the identity provider can verify with the metadata', async () => {
    await using saml = await startSaml()
    const { location, requestId, cookie, answer } = await saml.begin()
    assert.equal(`${location.origin}${location.pathname}`, 'https://idp.example/sso')
    assert.match(requestId, /^_[0-9a-f]{32}$/)
    assert.equal(cookie, requestId)
    assert.equal(
      answer.headers['set-cookie']?.[0],
      `_ea_saml=${requestId}; Secure; HttpOnly; SameSite=None; Path=/; Max-Age=600`,
    )
    assert.equal(answer.headers['cache-control'], 'no-store')
    const xml = inflateRawSync(
      Buffer.from(location.searchParams.get('SAMLRequest') ?? '', 'base64'),
    ).toString()
    assert.match(xml, new RegExp(` ID="${requestId}" Version="2\\.0" `))
    assert.match(xml, /Destination="https:\/\/idp\.example\/sso"/)
    assert.match(xml, /AssertionConsumerServiceURL="https:\/\/auth\.example\/saml\/r\/acs"/)
    assert.match(
      xml,
      /<saml:Issuer Format="urn:oasis:names:tc:SAML:2\.0:nameid-format:entity">https:\/\/auth\.example\/saml\/r</,
    )
    const metadata = await saml.auth.call('GET', '/saml/r/metadata')
    assert.equal(metadata.headers['content-type'], 'application/samlmetadata+xml')
    assert.match(metadata.text, /AuthnRequestsSigned="true" WantAssertionsSigned="true"/)
    const der =
      /use="signing">\s*<ds:KeyInfo><ds:X509Data><ds:X509Certificate>([^<]+)</.exec(metadata.text)?.[1] ?? ''
    const pem = `-----BEGIN CERTIFICATE-----\n${der}\n-----END CERTIFICATE-----`
    const [signed = '', signature = ''] = location.search.slice(1).split('&Signature=')
    assert.match(
      signed,
      /^SAMLRequest=[^&]+&RelayState=[^&]+&SigAlg=http%3A%2F%2Fwww\.w3\.org%2F2001%2F04%2Fxmldsig-more%23rsa-sha256$/,
    )
    const bytes = Buffer.from(decodeURIComponent(signature), 'base64')
    assert.ok(verify('sha256', Buffer.from(signed), createPublicKey(pem), bytes))
  })

  it('is accepted with the response, the assertion or both signed, by RSA and by ECDSA', async () => {
    await using saml = await startSaml()
    for (const sign of [['Response'], ['Assertion'], ['Assertion', 'Response']] as const) {
      const answer = await saml.logIn({ sign })
      assert.equal(answer.status, 200, `${sign}: ${answer.text}`)
    }
    const more = 'http://www.w3.org/2001/04/xmldsig-more#'
    for (const bits of [256, 512]) {
      const digestAlgorithm = `http://www.w3.org/2001/04/xmlenc#sha${bits}`
      const signing = { signatureAlgorithm: `${more}rsa-sha${bits}`, digestAlgorithm }
      assert.equal((await saml.logIn({ signing })).status, 200)
    }
    const ec = await sharedKey('idp-ec', 'ec')
    const metadata_xml = saml.idp.metadata({ certificates: [saml.idp.key.certificate, ec.certificate] })
    const body = {
      auth_params: { saml_params: saml.params({ metadata_xml }) },
      session_max_age_seconds: 60,
      session_max_stale_age_seconds: 60,
    }
    assert.equal((await saml.scene.asSuper('PUT', '/admins/realms/r', body)).status, 200)
    const signing = {
      key: ec,
      signatureAlgorithm: `${more}ecdsa-sha256`,
      inclusivePrefixes: ['samlp', 'saml', 'xs'],
    }
    const answer = await saml.logIn({ signing })
    assert.equal(answer.status, 200, answer.text)
  })

  it('is 400 for a realm that does not exist or has no SAML, whatever the browser brings (§4.3)', async () => {
    await using saml = await startSaml()
    await saml.scene.realm('plain')
    const bodies = ['', 'RelayState=x', 'SAMLResponse=x&RelayState=_0']
    for (const realm of ['plain', 'nowhere'])
      for (const body of bodies)
        for (const cookie of [undefined, '_ea_saml=x', '_ea_saml=_0', '_ea_saml=_0; _ea_saml=_1']) {
          const headers = {
            'content-type': 'application/x-www-form-urlencoded',
            ...(cookie !== undefined && { cookie }),
          }
          const answer = await saml.auth.call('POST', `/saml/${realm}/acs`, { body, headers })
          assert.equal(answer.status, 400, `${realm} ${body} ${cookie}: ${answer.text}`)
        }
  })

  it('needs no encryption where the realm offers no key for it', async () => {
    await using saml = await startSaml()
    const keys = async () =>
      [...(await saml.auth.call('GET', '/saml/r/metadata')).text.matchAll(/use="(\w+)"/g)].map(
        ([, use]) => use,
      )
    assert.deepEqual(new Set(await keys()), new Set(['signing', 'encryption']))
    const put = async (offer_encryption_key: unknown) => {
      const body = {
        auth_params: { saml_params: saml.params({ offer_encryption_key }) },
        session_max_age_seconds: 60,
        session_max_stale_age_seconds: 60,
      }
      const answer = await saml.scene.asSuper('PUT', '/admins/realms/r', body)
      assert.equal(answer.status, 200, answer.text)
      return answer.json.auth_params.saml_params
    }
    assert.equal((await put(false)).offer_encryption_key, false)
    assert.deepEqual(new Set(await keys()), new Set(['signing']))
    assert.equal((await saml.logIn({})).status, 200)
    for (const offered of [true, null]) {
      assert.equal('offer_encryption_key' in (await put(offered)), false)
      assert.deepEqual(new Set(await keys()), new Set(['signing', 'encryption']))
    }
  })
})
