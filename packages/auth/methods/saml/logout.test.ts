import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Answer } from '../../testing/client.ts'
import { readCookie } from '../../testing/start.ts'
import { logoutRequest, logoutResponse } from './logout.ts'
import { type SamlScene, startSaml } from './testing/saml-scene.ts'
import { randomId, sharedKey, signQuery } from './testing/test-idp.ts'

const slo =
  '<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo?tenant=1"/>'
const sloUrl = 'https://auth.example/saml/r/slo'

async function start(): Promise<SamlScene> {
  const saml = await startSaml()
  const saml_params = saml.params({ metadata_xml: saml.idp.metadata({ before: slo }) })
  const body = {
    auth_params: { saml_params },
    session_max_age_seconds: 900,
    session_max_stale_age_seconds: 900,
  }
  assert.equal((await saml.scene.asSuper('PUT', '/admins/realms/r', body)).status, 200)
  return saml
}

function request(
  saml: SamlScene,
  more: {
    name?: string
    index?: string | null
    issuer?: string
    destination?: string
    now?: number
    id?: string
  } = {},
): string {
  const { name = 'ann', index = null } = more
  const sent = {
    id: more.id ?? randomId(),
    destination: more.destination ?? sloUrl,
    spEntityId: more.issuer ?? saml.idp.entityId,
    now: more.now ?? saml.now(),
  }
  return logoutRequest(sent, { value: name, format: null, nameQualifier: null, spNameQualifier: null }, index)
}

const messageOf = (answer: Answer, field: string): string => {
  const data = new URL(answer.headers.location ?? '').searchParams.get(field) ?? ''
  return inflateRawSync(Buffer.from(data, 'base64')).toString()
}

describe('single logout', () => {
  it('of a user ends the session here and at the identity provider, and returns', async () => {
    await using saml = await start()
    const { call } = saml.auth
    assert.match(
      (await call('GET', '/saml/r/metadata')).text,
      new RegExp(`SingleLogoutService [^>]*Location="${sloUrl}"`),
    )
    const cookie = readCookie(await saml.logIn({ sessionIndex: 'one' }))
    const answer = await call('GET', '/saml/r/logout?return_to=https://app.example/bye', { cookie })
    assert.equal(answer.status, 302, answer.text)
    assert.match(answer.headers['set-cookie']?.[0] ?? '', /^_ea_=; .*Max-Age=0$/)
    assert.match(answer.headers.location ?? '', /^https:\/\/idp\.example\/slo\?tenant=1&SAMLRequest=/)
    assert.equal((await call('GET', '/whoami', { cookie })).status, 401)
    const asked = messageOf(answer, 'SAMLRequest')
    assert.match(asked, />ann<\/saml:NameID><samlp:SessionIndex>one</)
    const id = / ID="([^"]+)"/.exec(asked)?.[1] ?? ''
    const sent = { id: randomId(), destination: sloUrl, spEntityId: saml.idp.entityId, now: saml.now() }
    const query = signQuery(saml.idp, 'SAMLResponse', logoutResponse(sent, id))
    const back = await call('GET', `/saml/r/slo?${query}`)
    assert.deepEqual([back.status, back.headers.location], [302, 'https://app.example/bye'])
    assert.equal((await call('GET', `/saml/r/slo?${query}`)).status, 401, 'once')
    assert.equal((await call('GET', '/saml/r/logout')).status, 401)
  })

  it('by the identity provider ends the sessions that it names, and only those', async () => {
    await using saml = await start()
    const { call } = saml.auth
    const [one, two, bob] = [
      readCookie(await saml.logIn({ sessionIndex: 'one' })),
      readCookie(await saml.logIn({ sessionIndex: 'two' })),
      readCookie(await saml.logIn({ sessionIndex: 'one', nameId: 'bob' })),
    ]
    const live = async (): Promise<readonly number[]> =>
      Promise.all([one, two, bob].map(async (cookie) => (await call('GET', '/whoami', { cookie })).status))
    const query = signQuery(saml.idp, 'SAMLRequest', request(saml, { index: 'one' }))
    const answer = await call('GET', `/saml/r/slo?${query}`)
    assert.equal(answer.status, 302, answer.text)
    assert.match(messageOf(answer, 'SAMLResponse'), /InResponseTo="_[0-9a-f]{32}".*status:Success/)
    assert.equal(new URL(answer.headers.location ?? '').searchParams.get('RelayState'), 'state')
    assert.deepEqual(await live(), [401, 200, 200])
    assert.equal((await call('GET', `/saml/r/slo?${query}`)).status, 401, 'a replay')
    await call('GET', `/saml/r/slo?${signQuery(saml.idp, 'SAMLRequest', request(saml))}`)
    assert.deepEqual(await live(), [401, 401, 200])
    assert.equal(saml.auth.counted.get('auth_saml_logouts_total{outcome="by_idp"}'), 2)
  })

  it('unsigned, stale and malformed messages and deflate bombs end no session', async () => {
    await using saml = await start()
    const cookie = readCookie(await saml.logIn())
    const stranger = await sharedKey('stranger')
    const right = signQuery(saml.idp, 'SAMLRequest', request(saml))
    const bomb = deflateRawSync(Buffer.alloc(50_000_000, 0x20))
    for (const [what, query] of [
      ['a stranger', signQuery(saml.idp, 'SAMLRequest', request(saml), stranger)],
      ['unsigned', right.replace(/&SigAlg.*/, '')],
      ['no signature', right.replace(/&Signature.*/, '')],
      ['another state', right.replace('RelayState=state', 'RelayState=other')],
      ['the algorithm changed', right.replace('rsa-sha256', 'rsa-sha1')],
      [
        'another issuer',
        signQuery(saml.idp, 'SAMLRequest', request(saml, { issuer: 'https://other.example' })),
      ],
      [
        'another place',
        signQuery(saml.idp, 'SAMLRequest', request(saml, { destination: 'https://other.example/slo' })),
      ],
      ['an old one', signQuery(saml.idp, 'SAMLRequest', request(saml, { now: saml.now() - 301 }))],
      ['one of the future', signQuery(saml.idp, 'SAMLRequest', request(saml, { now: saml.now() + 181 }))],
      ['no name', signQuery(saml.idp, 'SAMLRequest', request(saml, { name: '' }))],
      [
        'an assertion',
        signQuery(saml.idp, 'SAMLRequest', saml.idp.assertion({ requestId: 'x', now: saml.now() })),
      ],
      ['a document type', signQuery(saml.idp, 'SAMLRequest', `<!DOCTYPE x>${request(saml)}`)],
      [
        'a response to nothing',
        signQuery(
          saml.idp,
          'SAMLResponse',
          logoutResponse(
            { id: '_1', destination: sloUrl, spEntityId: saml.idp.entityId, now: saml.now() },
            '_x',
          ),
        ),
      ],
      ['a deflate bomb', signQuery(saml.idp, 'SAMLRequest', bomb.subarray(0, 8000))],
      ['not deflated', signQuery(saml.idp, 'SAMLRequest', Buffer.from(request(saml)))],
      ['both', `${right}&SAMLResponse=AAAA`],
      ['twice', `${right}&SAMLRequest=AAAA`],
      ['another encoding', `${right}&SAMLEncoding=x`],
      ['nothing', ''],
      ['not base64', 'SAMLRequest=%3C&SigAlg=x&Signature=y'],
      ['not percent-encoded', 'SAMLRequest=AAAA&SigAlg=%zz&Signature=AAAA'],
    ] as const) {
      const answer = await saml.auth.call('GET', `/saml/r/slo?${query}`)
      assert.ok([400, 401].includes(answer.status), `${what}: ${answer.text}`)
      assert.match(answer.json.description, /^SAML error: rejected logout message: |^Invalid query/)
    }
    assert.equal((await saml.auth.call('GET', '/whoami', { cookie })).status, 200)
  })

  it('applies only to SAML sessions of the realm, and works without single logout at the identity provider', async () => {
    await using saml = await startSaml()
    const cookie = readCookie(await saml.logIn())
    await saml.scene.realm('s')
    await saml.scene.user('s', 'ann')
    const other = await saml.scene.logIn('s', 'ann')
    assert.equal((await saml.auth.call('GET', '/saml/r/logout', { cookie: other })).status, 400)
    assert.equal(
      (await saml.auth.call('GET', '/saml/r/logout?return_to=https://evil.example', { cookie })).status,
      400,
    )
    const answer = await saml.auth.call('GET', '/saml/r/logout', { cookie })
    assert.deepEqual([answer.status, answer.headers.location], [302, 'https://app.example/home'])
    assert.equal((await saml.auth.call('GET', '/whoami', { cookie })).status, 401)
  })
})
