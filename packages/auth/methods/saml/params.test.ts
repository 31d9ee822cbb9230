import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type SamlScene, startSaml } from './testing/saml-scene.ts'
import { keyPair, sharedKey } from './testing/test-idp.ts'

const ages = { session_max_age_seconds: 60, session_max_stale_age_seconds: 60 }
const sso = (location: string, binding = 'HTTP-Redirect'): string =>
  `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${location}"/>`
const put = (saml: SamlScene, members: Record<string, unknown>) =>
  saml.scene.asSuper('PUT', '/admins/realms/r', {
    auth_params: { saml_params: saml.params(members) },
    ...ages,
  })

describe('saml_params of a realm', () => {
  it('are derived from the metadata, whatever the caller sends for the identity provider', async () => {
    await using saml = await startSaml()
    const other = await sharedKey('idp-ec', 'ec')
    const before = '<md:NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:persistent</md:NameIDFormat>'
    const metadata_xml = saml.idp
      .metadata({ before, certificates: [saml.idp.key.certificate, other.certificate] })
      .replace('<md:IDPSSO', '<!-- written by people --><md:IDPSSO')
    const { status, json, text } = await put(saml, {
      metadata_xml,
      idp_entity_id: 'https://evil.example',
      idp_sso_url: 'https://evil.example/sso',
      idp_signing_certificates: [],
    })
    assert.equal(status, 200, text)
    const kept = json.auth_params.saml_params
    assert.equal(kept.idp_entity_id, 'https://idp.example/metadata')
    assert.equal(kept.idp_sso_url, 'https://idp.example/sso')
    assert.equal(kept.idp_nameid_format, 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent')
    assert.deepEqual(kept.idp_signing_certificates, [saml.idp.key.certificate, other.certificate])
    assert.equal(kept.metadata_xml, metadata_xml)
    assert.deepEqual([kept.normalize_subject_case, kept.attribute_claim_map], [false, {}])
  })

  it('are read from metadata without prefixes, and without `use` of a key', async () => {
    await using saml = await startSaml()
    const plain = saml.idp
      .metadata()
      .replaceAll('<md:', '<')
      .replaceAll('</md:', '</')
      .replace('xmlns:md=', 'xmlns=')
      .replace(' use="signing"', '')
    for (const metadata_xml of [plain, `\ufeff${plain}`, `\ufeff${plain}`.replaceAll('\n', '\r\n')]) {
      const { status, text } = await put(saml, { metadata_xml })
      assert.equal(status, 200, text)
    }
  })

  it('are refused with the member and the reason when they are invalid', async () => {
    await using saml = await startSaml()
    const { idp } = saml
    const weak = await keyPair('rsa', 1024)
    const cases: readonly (readonly [string, Record<string, unknown>])[] = [
      ['metadata_xml: it has a malformed tag', { metadata_xml: '<md' }],
      ['metadata_xml: must be an EntityDescriptor', { metadata_xml: '<x/>' }],
      ['metadata_xml: it has a document type', { metadata_xml: `<!DOCTYPE x>${idp.metadata().slice(39)}` }],
      ['metadata_xml: must not exceed 262144 bytes', { metadata_xml: idp.metadata() + ' '.repeat(262_144) }],
      [
        'metadata_xml: must describe a single entity',
        { metadata_xml: idp.metadata().replaceAll('EntityDescriptor', 'EntitiesDescriptor') },
      ],
      [
        'metadata_xml: must have an IDPSSODescriptor',
        { metadata_xml: idp.metadata().replaceAll('SAML:2.0:protocol', 'SAML:1.1:protocol') },
      ],
      ['metadata_xml: must have an entityID', { metadata_xml: idp.metadata().replace(idp.entityId, '') }],
      [
        'metadata_xml: has expired',
        { metadata_xml: idp.metadata({ attributes: ' validUntil="2020-01-01T00:00:00Z"' }) },
      ],
      [
        'metadata_xml: has a validUntil',
        { metadata_xml: idp.metadata({ attributes: ' validUntil="soon"' }) },
      ],
      [
        'metadata_xml: must have a SingleSignOnService with the HTTP-Redirect',
        { metadata_xml: idp.metadata({ inside: sso('https://idp.example/', 'HTTP-POST') }) },
      ],
      ['metadata_xml: the Location', { metadata_xml: idp.metadata({ inside: sso('http://idp.example/') }) }],
      ['metadata_xml: must have a signing certificate', { metadata_xml: idp.metadata({ certificates: [] }) }],
      [
        'metadata_xml: has a certificate that cannot be read',
        { metadata_xml: idp.metadata().replace(/(<ds:X509Certificate>)[^<]+/, '$1AAAA') },
      ],
      [
        'metadata_xml: has a certificate that is not base64',
        { metadata_xml: idp.metadata().replace(/(<ds:X509Certificate>)[^<]+/, '$1?') },
      ],
      [
        'metadata_xml: has a certificate whose key is neither',
        { metadata_xml: idp.metadata({ certificates: [weak.certificate] }) },
      ],
      ['metadata_url: must be an https URL', { metadata_url: 'http://idp.example' }],
      ['metadata_certificates: has a certificate', { metadata_certificates: ['x'] }],
      ['sp_acs_url: must be an https URL whose path', { sp_acs_url: 'https://auth.example/saml/other/acs' }],
      ['sp_acs_url: must be an https URL whose path', { sp_acs_url: 'http://auth.example/saml/r/acs' }],
      ['sp_acs_url: must be an https URL whose path', { sp_acs_url: 'https://auth.example/saml/r/acs?x' }],
      [
        'subject_attribute: is required',
        {
          metadata_xml: idp.metadata({
            before: '<md:NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:transient</md:NameIDFormat>',
          }),
        },
      ],
      ["attribute_claim_map: 'sub' is a reserved", { attribute_claim_map: { uid: 'sub' } }],
      [
        "attribute_claim_map: two attributes are mapped to the claim 'x'",
        { attribute_claim_map: { a: 'x', b: 'x' } },
      ],
      ['attribute_claim_map: has an empty name', { attribute_claim_map: { '': 'x' } }],
      ['attribute_claim_map: has an empty name', { attribute_claim_map: { a: '' } }],
      ...[
        'http://app.example',
        'https://app.example/x',
        'https://app.example?x',
        'https://app.example/#',
        'https://u@app.example',
        'app.example',
      ].map(
        (origin) => ['allowed_return_origins: must be https', { allowed_return_origins: [origin] }] as const,
      ),
      ['default_return_url: its origin', { default_return_url: 'https://other.example/' }],
      ['default_return_url: must be an https URL', { default_return_url: 'http://app.example/' }],
      ['default_return_url: its origin', { allowed_return_origins: null }],
      ['sp_entity_id', { sp_entity_id: '' }],
      ['sp_entity_id', { sp_entity_id: null }],
    ]
    for (const [reason, members] of cases) {
      const { status, text } = await put(saml, members)
      assert.equal(status, 400, `${reason}: ${text}`)
      assert.ok(text.includes('saml_params'), text)
      assert.ok(
        JSON.parse(text).description.includes(reason.replace('saml_params.', '')),
        `${reason}: ${text}`,
      )
    }
    assert.equal((await saml.logIn()).status, 200, 'nothing has changed')
  })
})

describe('the return URL of a login', () => {
  it('must be under an allowed origin, also in misleading spellings', async () => {
    await using saml = await startSaml()
    for (const url of [
      'https://app.example.evil.example/',
      'https://evil.example/https://app.example/',
      'http://app.example/',
      'javascript:alert(1)',
      'data:text/html,x',
      '//app.example/',
      '/home',
      'https:app.example',
      'https:\\\\app.example/',
      'https://app.example\\@evil.example/',
      'https://evil.example\\.app.example/',
      'https://app.example@evil.example/',
      'https://user:pass@app.example/',
      'https://app.example:8443/',
      'https://app.example./',
      'https://аpp.example/',
      'https://app。example/',
      'https://app%2eexample/',
      'https://app.example%2f@evil.example/',
      'https://app.example/\r\nLocation: x',
      'https://app.example/\u0000',
      ' https://app.example/',
      'https://app.example/<script>',
      `https://app.example/${'x'.repeat(3000)}`,
      '/',
      '/ui',
      '/swagger',
      '//app.example/ui/',
      '/ui//evil.example',
      '/ui/../logout',
      '/ui/%2e%2e/logout',
      '/ui/\\evil.example',
      '/ui/a"b',
      '/ui/#x',
      `/ui/${'x'.repeat(3000)}`,
      '',
    ]) {
      const answer = await saml.auth.call('GET', `/saml/r/login?return_to=${encodeURIComponent(url)}`)
      assert.equal(answer.status, 400, JSON.stringify(url))
      assert.match(answer.text, url.includes('\u0000') ? /U\+0000/ : /return_to is not/)
      assert.equal(answer.headers['set-cookie'], undefined)
    }
    const twice = await saml.auth.call(
      'GET',
      '/saml/r/login?return_to=https://app.example/&return_to=https://evil.example/',
    )
    assert.equal(twice.status, 400)
    await saml.begin({ returnTo: 'https://APP.example:443/a?b#c' })
    await saml.begin({ returnTo: '/ui/handover?request=a_b-c&to=%2Fui%2Fkeys' })
    const code = { state: 's'.repeat(16), code_challenge: 'c'.repeat(43) }
    const toPage = new URLSearchParams({ return_to: '/ui/', ...code })
    assert.equal((await saml.auth.call('GET', `/saml/r/login?${toPage}`)).status, 400, 'a code for a page')
  })

  it('is the default of the realm when it is absent; realms without SAML have no login', async () => {
    await using saml = await startSaml()
    await saml.scene.realm('plain')
    assert.match((await saml.logIn()).text, /url=https:\/\/app\.example\/home"/)
    for (const path of ['login', 'metadata']) {
      for (const realm of ['plain', 'nowhere']) {
        const answer = await saml.auth.call('GET', `/saml/${realm}/${path}`)
        assert.deepEqual(
          [answer.status, answer.json.description],
          [400, `realm '${realm}' does not exist or does not use SAML.`],
        )
      }
    }
    const login = await saml.begin()
    assert.equal((await saml.post(login, 'x', { realm: 'plain' })).status, 400)
  })
})
