import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { peerSecretHeader } from '@warder/server'
import { query as statement } from '@warder/storage'
import type { Client } from '../../testing/client.ts'
import { peerSecret } from '../../testing/start.ts'
import { begunLogin, type SamlScene, startSaml } from './testing/saml-scene.ts'

const origins = ['https://app.example', 'https://kms.example', 'http://127.0.0.1']
const members = { allowed_return_origins: origins }
const callback = 'https://kms.example/ui/saml_callback'

interface Started {
  readonly verifier: string
  readonly state: string
  readonly query: string
}

function started(returnTo = callback): Started {
  const [verifier, state] = [randomBytes(32).toString('base64url'), randomBytes(16).toString('base64url')]
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  return { verifier, state, query: `${new URLSearchParams({ return_to: returnTo, state, code_challenge })}` }
}

/** Logs in and reads the address that the page links to. */
async function brought(saml: SamlScene, query: string) {
  const login = begunLogin(await saml.auth.call('GET', `/saml/r/login?${query}`))
  const response = saml.idp.response({ requestId: login.requestId, now: saml.now() })
  const answer = await saml.post(login, response)
  assert.equal(answer.status, 200, answer.text)
  const href = /<a href="([^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
  return { answer, url: new URL(href) }
}

const redeem = (client: Pick<Client, 'call'>, code: string | null, code_verifier: string, realm = 'r') =>
  client.call('POST', `/saml/${realm}/session`, { json: { code, code_verifier } })

describe('a session that is handed over', () => {
  it('is given once to the holder of the verifier, and never to the browser or in a URL', async () => {
    await using saml = await startSaml(members)
    const { verifier, state, query } = started(`${callback}?x=1`)
    const { answer, url } = await brought(saml, query)
    assert.deepEqual(
      answer.headers['set-cookie'],
      ['_ea_saml=; Secure; HttpOnly; SameSite=None; Path=/; Max-Age=0'],
      'the browser gets no session',
    )
    assert.equal(`${url.origin}${url.pathname}`, callback)
    assert.deepEqual([...url.searchParams.keys()], ['x', 'code', 'state'])
    assert.equal(url.searchParams.get('state'), state)
    const code = url.searchParams.get('code')
    const redeemed = await redeem(saml.auth, code, verifier)
    assert.equal(redeemed.status, 200, redeemed.text)
    const cookie = /^_ea_=([^;]+); HttpOnly; Secure; SameSite=Strict; Path=\/; Max-Age=3600$/.exec(
      redeemed.headers['set-cookie']?.[0] ?? '',
    )?.[1]
    assert.ok(cookie)
    const who = await saml.auth.call('GET', '/whoami', { cookie })
    assert.deepEqual([who.json.sub, who.json.jti], ['ann', redeemed.json.session_id])
    assert.equal((await redeem(saml.auth, code, verifier)).status, 401, 'once')
    const events = saml.auth.events.filter(({ operation }) => operation === 'saml.redeem')
    assert.deepEqual(
      events.map(({ principal, outcome }) => [principal, outcome]),
      [
        ['ann', 'success'],
        ['unauthenticated', 'failure'],
      ],
    )
    assert.ok(!JSON.stringify(saml.auth.events).includes(code ?? '?'), 'the code is in no record')
  })

  it('is refused without the verifier, and stays available to the holder of the verifier', async () => {
    await using saml = await startSaml(members)
    const { verifier, query } = started()
    const { url } = await brought(saml, query)
    const code = url.searchParams.get('code')
    const other = await redeem(saml.auth, code, started().verifier)
    assert.deepEqual(
      [other.status, other.json.description],
      [401, 'The code is wrong, expired or used, or it is not for this caller.'],
    )
    assert.equal((await redeem(saml.auth, code, verifier, 'other')).status, 401, 'another realm')
    assert.equal((await redeem(saml.auth, `${code}x`, verifier)).status, 401)
    assert.equal((await redeem(saml.auth, code, 'short')).status, 400)
    assert.equal((await redeem(saml.auth, code, verifier)).status, 200)
  })

  it('expires after 60 seconds', async () => {
    await using saml = await startSaml(members)
    const { verifier, query } = started()
    const { url } = await brought(saml, query)
    saml.auth.clock.advance(60)
    assert.equal((await redeem(saml.auth, url.searchParams.get('code'), verifier)).status, 401)
  })

  it('is stored encrypted, and its code as a hash', async () => {
    await using saml = await startSaml(members)
    const { verifier, query } = started()
    const { url } = await brought(saml, query)
    const code = url.searchParams.get('code') ?? ''
    const rows = await saml.auth.db.all(statement<[], object>('SELECT * FROM saml_handover'), [])
    assert.equal(rows.length, 1)
    assert.ok(!JSON.stringify(rows).includes(code) && !JSON.stringify(rows).includes(verifier))
  })

  it('is given to one of many concurrent requests on two nodes', async () => {
    await using saml = await startSaml(members)
    await using far = await saml.auth.beside()
    const { verifier, query } = started()
    const { url } = await brought(saml, query)
    const code = url.searchParams.get('code')
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => redeem(index % 2 === 0 ? saml.auth : far, code, verifier)),
    )
    const statuses = answers.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [200, 401, 401, 401, 401, 401, 401, 401])
  })

  it('is refused after the session has ended', async () => {
    await using saml = await startSaml(members)
    const { verifier, query } = started()
    const { url } = await brought(saml, query)
    assert.equal((await saml.scene.asSuper('DELETE', '/sessions/realms/r')).status, 204)
    assert.equal((await redeem(saml.auth, url.searchParams.get('code'), verifier)).status, 401)
  })
})

describe('the logout handle of a session that was handed over', () => {
  it('ends only this session, also when it is sent repeatedly', async () => {
    await using saml = await startSaml(members)
    const sessions = []
    for (const _ of [1, 2]) {
      const { verifier, query } = started()
      const { url } = await brought(saml, query)
      const { headers, json } = await redeem(saml.auth, url.searchParams.get('code'), verifier)
      const cookie = /^_ea_=([^;]+)/.exec(headers['set-cookie']?.[0] ?? '')?.[1] ?? ''
      sessions.push({ cookie, handle: json.logout_handle as string })
    }
    const [mine, other] = sessions
    assert.ok(mine !== undefined && other !== undefined)
    const live = async (cookie: string) => (await saml.auth.call('GET', '/whoami', { cookie })).status
    const end = (logout_handle: string, realm = 'r') =>
      saml.auth.call('POST', `/saml/${realm}/session/end`, { json: { logout_handle } })
    for (const [wrong, realm] of [
      [`${mine.handle.slice(0, -4)}AAAA`],
      [mine.cookie.slice(0, 500)],
      ['x'],
      [mine.handle, 'other'],
    ] as const)
      assert.equal((await end(wrong, realm)).status, 401, wrong)
    assert.deepEqual([await live(mine.cookie), await live(other.cookie)], [200, 200])
    assert.equal((await end(mine.handle)).status, 204)
    assert.deepEqual([await live(mine.cookie), await live(other.cookie)], [401, 200])
    assert.equal((await end(mine.handle)).status, 204, 'again')
    const reasons = statement<[], { readonly reason: string }>(
      "SELECT reason FROM ended WHERE kind = 'session'",
    )
    const told = await saml.auth.db.all(reasons, [])
    assert.deepEqual(
      told.map(({ reason }) => reason),
      ['logged_out'],
      'subscribers are notified once',
    )
    const events = saml.auth.events.filter(({ operation }) => operation === 'saml.end')
    assert.deepEqual(events.at(-2)?.principal, 'ann')
    assert.ok(!JSON.stringify(events).includes(mine.handle), 'the handle is in no record')
  })
})

describe('the address that a code is sent to', () => {
  it('is an allowed origin, without fragment, or a program on the same computer where the realm allows it', async () => {
    await using saml = await startSaml(members)
    const refused = [
      'https://evil.example/ui',
      'http://kms.example/',
      'https://kms.example/#x',
      'http://localhost:8000/',
      'http://127.0.0.1/',
      'http://127.0.0.1:99999/',
      'http://127.0.0.1:80@evil.example/',
      'http://127.0.0.1:80/?x=1',
      'http://127.0.0.1.evil.example:80/',
      'http://[::1]:80/',
      'javascript:alert(1)',
    ]
    for (const address of refused) {
      const answer = await saml.auth.call('GET', `/saml/r/login?${started(address).query}`)
      assert.equal(answer.status, 400, address)
    }
    for (const query of ['state', 'code_challenge', 'return_to'].map((name) => {
      const left = new URLSearchParams(started().query)
      left.delete(name)
      return left
    }))
      assert.equal((await saml.auth.call('GET', `/saml/r/login?${query}`)).status, 400, `${query}`)
    const plain = await saml.auth.call('GET', '/saml/r/login?return_to=http://127.0.0.1:8000/')
    assert.equal(plain.status, 400, 'a session cookie has no business there')
  })

  it('asks the user before a program on the computer gets it', async () => {
    await using saml = await startSaml(members)
    const { verifier, query } = started('http://127.0.0.1:8765/done')
    const { answer, url } = await brought(saml, query)
    assert.doesNotMatch(answer.text, /http-equiv="refresh"/)
    assert.match(answer.text, /wants to act as <strong>ann<\/strong>/)
    assert.equal(url.host, '127.0.0.1:8765')
    assert.equal((await redeem(saml.auth, url.searchParams.get('code'), verifier)).status, 200)
  })
})

describe('realms that a login page offers', () => {
  it('are listed only for services of the installation, where the realm allows the address', async () => {
    await using saml = await startSaml(members)
    const ask = (secret: string, returnTo = callback) =>
      saml.auth.call('GET', `/saml/realms?return_to=${encodeURIComponent(returnTo)}`, {
        headers: { [peerSecretHeader]: secret },
      })
    assert.deepEqual((await ask(peerSecret)).json, {
      realms: [{ realm_id: 'r', login_url: 'https://auth.example/saml/r/login' }],
    })
    assert.deepEqual((await ask(peerSecret, 'https://other.example/')).json, { realms: [] })
    assert.equal((await ask(`${peerSecret}x`)).status, 401)
  })
})
