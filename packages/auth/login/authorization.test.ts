import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connect } from 'node:tls'
import { scene } from '../testing/scene.ts'
import { startAuth, type TestService } from '../testing/start.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/**
 * Sends header lines byte for byte and returns the status of the login; undefined = connection closed without an
 * answer.
 */
function rawLogin(auth: TestService, lines: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: auth.port, ca: auth.authority.certificatePem })
    const chunks: Buffer[] = []
    const end = (): void => {
      const text = Buffer.concat(chunks).toString('latin1')
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]
      resolve({ status: status === undefined ? undefined : Number(status), text })
    }
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', end)
    socket.write(
      `POST /login?realm=r HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines}\r\nContent-Length: 0\r\n\r\n`,
    )
  })
}

describe('an Authorization header that is malformed (A30)', () => {
  it('allows no login, causes no error and discloses nothing, in every malformed variant', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { realm, user } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const right = base64('ann:correct horse')
    const welcome = await rawLogin(auth, `Authorization: Basic ${right}`)
    assert.equal(welcome.status, 200, 'the way of sending is right')
    const before = auth.counted.get('auth_sessions_total{event="begun"}')
    const attempts: Readonly<Record<string, readonly [lines: string, ...statuses: number[]]>> = {
      'two headers': [`Authorization: Basic ${right}\r\nAuthorization: Basic ${right}`, 400],
      'two headers, one malformed': [`Authorization: Basic !\r\nauthorization: Basic ${right}`, 400],
      'two in one': [`Authorization: Basic ${right}, Basic ${right}`, 401],
      'a megabyte': [`Authorization: Basic ${base64(`ann:${'x'.repeat(1_000_000)}`)}`, 431],
      'a long one': [`Authorization: Basic ${base64(`ann:${'x'.repeat(9000)}`)}`, 401],
      'a line end': [`Authorization: Basic\r\n ${right}`, 400, 401],
      'a bare carriage return': [`Authorization: Basic\r${right}`, 400],
      'a bare line feed': [`Authorization: Basic\n${right}`, 400],
      'a NUL': [`Authorization: Basic ${right}\0`, 400],
      'a blank before the colon': [`Authorization : Basic ${right}`, 400],
      'no scheme': [`Authorization: ${right}`, 401],
      'no colon within': [`Authorization: Basic ${base64('ann')}`, 401],
      'a NUL within': [`Authorization: Basic ${base64('ann\0:correct horse')}`, 401],
      'line ends within': [`Authorization: Basic ${base64('ann\r\nx: y:correct horse')}`, 401],
      'a byte order mark within': [`Authorization: Basic ${base64('\ufeffann:correct horse')}`, 401],
      base64url: [`Authorization: Basic ${base64('ann:\u00ff\u00fe\u00ff').replaceAll('/', '_')}`, 401],
      'bytes beyond ASCII': ['Authorization: Basic \xff\xfe', 400, 401],
      'unknown scheme': [`Authorization: Negotiate ${right}`, 401],
    }
    for (const [what, [lines, ...statuses]] of Object.entries(attempts)) {
      const { status, text } = await rawLogin(auth, lines)
      assert.ok(status !== undefined && statuses.includes(status), `${what}: ${status}`)
      assert.ok(!/set-cookie/i.test(text), what)
    }
    assert.equal(auth.counted.get('auth_sessions_total{event="begun"}'), before)
    assert.equal((await rawLogin(auth, `Authorization: bAsIc  ${right}`)).status, 200, 'and all is well')
  })
})
