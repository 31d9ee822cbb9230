import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCookie } from '../../testing/start.ts'
import { type SamlScene, startSaml, toAcsUrl, toSpEntityId } from './testing/saml-scene.ts'
import { type ResponseWishes, sharedKey } from './testing/test-idp.ts'

const success = 'urn:oasis:names:tc:SAML:2.0:status:'

/** A response that is refused: its changes, the reason that the browser shows, the check that metrics count. */
type Refusal = readonly [wishes: Partial<ResponseWishes>, reason: RegExp, check: string]

async function refusedFor(saml: SamlScene, [wishes, reason, check]: Refusal): Promise<void> {
  const counter = `auth_saml_responses_total{outcome="${check}"}`
  const before = saml.auth.counted.get(counter) ?? 0
  const answer = await saml.logIn(wishes)
  assert.equal(answer.status, 401, `${JSON.stringify(wishes)} ${answer.text}`)
  assert.match(answer.json.description, /^SAML error: /)
  assert.match(answer.json.description, reason)
  assert.equal(answer.headers['set-cookie'], undefined)
  assert.equal(saml.auth.counted.get(counter), before + 1, `${check}: ${answer.json.description}`)
  const event = saml.auth.events.findLast(({ operation }) => operation === 'saml.acs')
  assert.deepEqual(
    [event?.outcome, event?.reason, event?.principal],
    ['failure', `saml_${check}`, 'unauthenticated'],
  )
}

describe('a response is refused, with its reason,', () => {
  it('when it does not match the request, the issuer, the audience or the time', async () => {
    await using saml = await startSaml()
    const now = saml.now()
    const other = { key: await sharedKey('stranger') }
    const both: readonly ('Response' | 'Assertion')[] = ['Assertion', 'Response']
    const refusals: readonly Refusal[] = [
      [{ sign: [] }, /must be signed/, 'signature'],
      [{ signing: other }, /the signature is invalid/, 'signature'],
      [{ inResponseTo: '_other' }, /InResponseTo/, 'in_response_to'],
      [{ inResponseTo: null }, /InResponseTo/, 'in_response_to'],
      [{ confirmationInResponseTo: '_other' }, /InResponseTo/, 'in_response_to'],
      [{ issuer: 'https://other.example' }, /Issuer/, 'issuer'],
      [
        { issuer: 'https://other.example', responseIssuer: saml.idp.entityId },
        /Issuer of the assertion/,
        'issuer',
      ],
      [{ responseIssuer: 'https://other.example' }, /Issuer/, 'issuer'],
      [{ destination: toAcsUrl('s') }, /Destination/, 'destination'],
      [{ destination: null, sign: both }, /has no Destination/, 'destination'],
      [{ recipient: toAcsUrl('s') }, /Recipient/, 'subject_confirmation'],
      [{ confirmation: 'holder-of-key' }, /no bearer SubjectConfirmation/, 'subject_confirmation'],
      [{ confirmationNotOnOrAfter: null }, /no NotOnOrAfter/, 'subject_confirmation'],
      [{ confirmationNotOnOrAfter: now - 180 }, /expired/, 'subject_confirmation'],
      [{ audiences: [] }, /^SAML error: assertion has no AudienceRestriction$/, 'audience'],
      [
        { audiences: [[toSpEntityId('s')]] },
        /^SAML error: assertion is not addressed to this service provider$/,
        'audience',
      ],
      [{ audiences: [[toSpEntityId('r')], [toSpEntityId('s')]] }, /not addressed/, 'audience'],
      [{ extraConditions: '<saml:Condition/>' }, /unknown condition/, 'conditions'],
      [{ notOnOrAfter: now - 180 }, /expired/, 'conditions'],
      [{ notBefore: now + 181 }, /not yet valid/, 'conditions'],
      [{ authnStatement: false }, /^SAML error: assertion has no AuthnStatement$/, 'authn_statement'],
      [{ sessionNotOnOrAfter: now }, /session at the IdP has expired/, 'authn_statement'],
      [{ issuedAt: now - 301 }, /^SAML error: assertion was issued too long ago$/, 'age'],
      [{ issuedAt: now + 181 }, /not yet valid/, 'age'],
      [{ status: `${success}Responder` }, /StatusCode is not Success but Responder/, 'status'],
      [{ status: 'x' }, /StatusCode is not Success$/, 'status'],
      [{ nameId: null }, /^SAML error: assertion has no NameID$/, 'subject'],
      [{ nameId: '' }, /has no NameID/, 'subject'],
      [{ nameId: ' ann' }, /cannot be a username/, 'subject'],
      [{ nameId: 'x'.repeat(300) }, /cannot be a username/, 'subject'],
      [
        { nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' },
        /^SAML error: the NameID is transient and no subject attribute is configured$/,
        'subject',
      ],
    ]
    for (const refusal of refusals) {
      await refusedFor(saml, refusal)
      const [wishes, ...rest] = refusal
      if (wishes.sign === undefined) await refusedFor(saml, [{ ...wishes, sign: ['Response'] }, ...rest])
    }
    // The limits themselves are accepted.
    for (const wishes of [
      { notOnOrAfter: now - 179, confirmationNotOnOrAfter: now - 179 },
      { notBefore: now + 180 },
      { issuedAt: now - 300 },
      { issuedAt: now + 180 },
      { audiences: [['https://x.example', toSpEntityId('r')]] },
      { destination: null },
    ])
      assert.equal((await saml.logIn(wishes)).status, 200, JSON.stringify(wishes))
  })

  it('and the login can be retried: only a session consumes the request', async () => {
    await using saml = await startSaml()
    const login = await saml.begin()
    const response = (wishes: Partial<ResponseWishes>) =>
      saml.idp.response({ requestId: login.requestId, now: saml.now(), ...wishes })
    assert.equal((await saml.post(login, response({ audiences: [] }))).status, 401)
    assert.equal((await saml.post(login, response({}))).status, 200)
    const again = await saml.post(login, response({}))
    assert.deepEqual(
      [again.status, again.json.description],
      [401, 'SAML error: unknown or expired sign-in request'],
    )
  })

  it('when the realm changes during the validation, and the login can be retried', async (t) => {
    await using saml = await startSaml()
    const { samlVerification: verification } = saml.auth.services
    const validate = verification.validate.bind(verification)
    let meanwhile = async (): Promise<void> => undefined
    t.mock.method(verification, 'validate', async (...job: Parameters<typeof validate>) => {
      const result = await validate(...job)
      await meanwhile()
      return result
    })
    const put = async (members: Record<string, unknown>) => {
      const json = {
        id: 'r',
        auth_params: { saml_params: saml.params(members) },
        session_max_age_seconds: 3600,
        session_max_stale_age_seconds: 600,
      }
      assert.equal((await saml.scene.asSuper('PUT', '/admins/realms/r', json)).status, 200)
    }
    const login = await saml.begin()
    const response = () => saml.idp.response({ requestId: login.requestId, now: saml.now() })
    meanwhile = () => put({ default_return_url: 'https://app.example/other' })
    const refused = await saml.post(login, response())
    assert.deepEqual(
      [refused.status, refused.json.description, refused.headers['set-cookie']],
      [401, 'SAML error: the realm or the user was changed meanwhile', undefined],
    )
    assert.equal(saml.auth.counted.get('auth_saml_responses_total{outcome="realm"}'), 1)
    meanwhile = async () => undefined
    const accepted = await saml.post(login, response())
    assert.equal(accepted.status, 200, accepted.text)
    assert.notEqual(accepted.headers['set-cookie'], undefined)

    const last = await saml.begin()
    meanwhile = async () => {
      assert.equal((await saml.scene.asSuper('DELETE', '/admins/realms/r')).status, 204)
    }
    const gone = await saml.post(last, saml.idp.response({ requestId: last.requestId, now: saml.now() }))
    assert.deepEqual([gone.status, gone.headers['set-cookie']], [401, undefined])
  })

  it('when the realm was changed or removed between the redirect and the response', async () => {
    await using saml = await startSaml()
    const [first, second] = [await saml.begin(), await saml.begin()]
    const answer = (login: typeof first) =>
      saml.post(login, saml.idp.response({ requestId: login.requestId, now: saml.now() }))
    const json = {
      id: 'r',
      auth_params: { username_password_params: { allow_expired_passwords: false } },
      session_max_age_seconds: 3600,
      session_max_stale_age_seconds: 600,
    }
    assert.equal((await saml.scene.asSuper('PUT', '/admins/realms/r', json)).status, 200)
    const withoutSaml = await answer(first)
    assert.ok(withoutSaml.status >= 400 && withoutSaml.status < 500, withoutSaml.text)
    assert.equal((await saml.scene.asSuper('DELETE', '/admins/realms/r')).status, 204)
    const withoutRealm = await answer(second)
    assert.ok(withoutRealm.status >= 400 && withoutRealm.status < 500, withoutRealm.text)
    assert.deepEqual(
      [withoutSaml.headers['set-cookie'], withoutRealm.headers['set-cookie']],
      [undefined, undefined],
    )
  })

  it('when the login took longer than ten minutes, or was started in another realm', async () => {
    await using saml = await startSaml()
    const params = saml.params({ sp_acs_url: toAcsUrl('s'), sp_entity_id: toSpEntityId('s') })
    await saml.scene.realm('s', { auth_params: { saml_params: params } })
    const elsewhere = await saml.begin({ realm: 's' })
    const wrong = await saml.post(
      elsewhere,
      saml.idp.response({ requestId: elsewhere.requestId, now: saml.now() }),
    )
    assert.deepEqual(
      [wrong.status, wrong.json.description],
      [401, 'SAML error: unknown or expired sign-in request'],
    )
    const login = await saml.begin()
    saml.auth.clock.advance(600)
    const late = await saml.post(login, saml.idp.response({ requestId: login.requestId, now: saml.now() }))
    assert.deepEqual(
      [late.status, late.json.description],
      [401, 'SAML error: unknown or expired sign-in request'],
    )
  })

  it('when it is not base64-encoded UTF-8', async () => {
    await using saml = await startSaml()
    const login = await saml.begin()
    for (const field of ['', '%', '%3C', 'A', 'AAA=A', '////', encodeURIComponent('ÿ'), '%ff', 'AAAA%00']) {
      const answer = await saml.auth.call('POST', '/saml/r/acs', {
        body: `SAMLResponse=${field}&RelayState=${login.requestId}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: `_ea_saml=${login.cookie}` },
      })
      assert.deepEqual(
        [answer.status, answer.json.description],
        [401, 'SAML error: SAMLResponse is not base64-encoded UTF-8'],
        field,
      )
    }
  })
})

describe('a session of SAML', () => {
  it('ends with the session at the identity provider', async () => {
    await using saml = await startSaml()
    const answer = await saml.logIn({ sessionNotOnOrAfter: saml.now() + 100 })
    assert.match(answer.headers['set-cookie']?.[0] ?? '', /Max-Age=100$/)
    const cookie = readCookie(answer)
    const whoami = () => saml.auth.call('GET', '/whoami', { cookie })
    assert.equal((await whoami()).json.exp, saml.now() + 100)
    saml.auth.clock.advance(99)
    assert.equal((await whoami()).status, 200)
    saml.auth.clock.advance(1)
    assert.equal((await whoami()).status, 401)
  })

  it('ends when the realm gets another identity provider, and stays when it gets another certificate', async () => {
    await using saml = await startSaml()
    const cookie = readCookie(await saml.logIn())
    const put = async (samlParams: unknown) => {
      const auth_params = {
        username_password_params: { allow_expired_passwords: false },
        saml_params: samlParams,
      }
      const body = { auth_params, session_max_age_seconds: 60, session_max_stale_age_seconds: 60 }
      assert.equal((await saml.scene.asSuper('PUT', '/admins/realms/r', body)).status, 200)
      return (await saml.auth.call('GET', '/whoami', { cookie })).status
    }
    const { certificate } = await sharedKey('stranger')
    assert.equal(
      await put(saml.params({ metadata_xml: saml.idp.metadata({ certificates: [certificate] }) })),
      200,
    )
    const other = saml.idp.metadata().replace(saml.idp.entityId, 'https://other.example')
    assert.equal(await put(saml.params({ metadata_xml: other })), 401)
  })

  it('belongs to an administrator only where an Admin names its subject in `saml`', async () => {
    await using saml = await startSaml({ normalize_subject_case: true })
    const { admin, asSuper, as } = saml.scene
    await saml.scene.user('r', 'ann').catch(() => undefined)
    await admin('by password', ['r'], { userpass: 'ann', jwt: 'ann', client_certificate: 'ann' })
    const cookie = readCookie(await saml.logIn({ nameId: 'ANN' }))
    assert.equal((await as(cookie, 'GET', '/whoami')).json.sub, 'ann')
    assert.equal((await as(cookie, 'GET', '/realms/r/userpass')).status, 403)
    await admin('by saml', ['r'], { saml: 'ann' })
    assert.equal((await as(cookie, 'GET', '/realms/r/userpass')).status, 200)
    assert.equal((await as(cookie, 'GET', '/admins/realms/_')).status, 403)
    assert.equal((await asSuper('GET', '/admins/by%20saml')).json.saml, 'ann')
  })
})

describe('attributes of an assertion', () => {
  it('supply the subject where the realm configures it: exactly one value', async () => {
    await using saml = await startSaml({ subject_attribute: 'uid', attribute_claim_map: { note: 'note' } })
    const answer = await saml.logIn({ attributes: { uid: ['', 'bob'] } })
    const who = await saml.auth.call('GET', '/whoami', { cookie: readCookie(answer) })
    assert.deepEqual([who.json.sub, who.json.roles, 'note' in who.json], ['bob', [], false])
    await refusedFor(saml, [{}, /^SAML error: subject attribute 'uid' is missing$/, 'subject'])
    await refusedFor(saml, [
      { attributes: { uid: ['bob', 'ann'] } },
      /^SAML error: subject attribute 'uid' has several values$/,
      'subject',
    ])
  })

  it('must not exceed 4 KiB as claims, nor the maximum cookie size of browsers', async () => {
    await using saml = await startSaml({ attribute_claim_map: { note: 'note' }, role_attribute: 'groups' })
    const tooLarge = /^SAML error: the mapped attributes exceed the extra-claims size limit$/
    await refusedFor(saml, [{ attributes: { note: ['x'.repeat(4096)] } }, tooLarge, 'attributes'])
    const groups = Array.from({ length: 300 }, (_, index) => `a long name of group ${index}`)
    await refusedFor(saml, [{ attributes: { groups } }, tooLarge, 'attributes'])
    assert.equal((await saml.logIn({ attributes: { note: ['x'.repeat(2000)], other: groups } })).status, 200)
  })
})
