import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { issue, newFolder, type PairFiles, writeFiles } from './fixtures/certificates.ts'
import { type LiveServer, type Seen, serve, shake } from './fixtures/handshake.ts'
import type { IssuedCertificate } from './local-authority.ts'
import { newTicketKeys, type TlsFiles, tlsProfile, underCrls } from './profile.ts'

const folder = newFolder()
const servers: LiveServer[] = []
const ticketKeys = newTicketKeys()
let pair = {} as PairFiles
let renewed = {} as PairFiles
let [firstCa, secondCa] = ['', '']
let alice: ConnectionOptions = {}

before(async () => {
  const first = await issue({ commonName: 'first', purpose: 'authority' })
  firstCa = writeFiles(folder, 'first', first).certFile
  secondCa = writeFiles(
    folder,
    'second',
    await issue({ commonName: 'second', purpose: 'authority' }),
  ).certFile
  pair = writeFiles(folder, 'server', await issue({ commonName: 'server' }))
  renewed = writeFiles(folder, 'renewed', await issue({ commonName: 'renewed' }))
  const { certificatePem, keyPem }: IssuedCertificate = await issue(
    { commonName: 'alice', purpose: 'client' },
    first,
  )
  alice = { cert: certificatePem, key: keyPem, rejectUnauthorized: false }
})
after(() => {
  for (const one of servers) one.close()
  rmSync(folder, { recursive: true })
})

async function live(more: Partial<TlsFiles> = {}): Promise<LiveServer> {
  const one = await serve(tlsProfile({ ...pair, clientsCaFile: firstCa, ticketKeys, ...more }))
  servers.push(one)
  return one
}

const resumed: Seen = { commonName: 'alice', presentedUnverified: false, resumed: true }
const fresh: Seen = { ...resumed, resumed: false }

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  const options = (): ConnectionOptions => ({ ...alice, minVersion: version, maxVersion: version })
  /** A session that Alice made, or undefined. */
  const sessionAt = async (one: LiveServer): Promise<{ session?: Buffer }> => {
    const { seen, session } = await shake(one, options())
    assert.deepEqual(seen, fresh)
    assert.ok(session !== undefined, 'the server gives a session')
    return { session }
  }

  test(`${version}: a session resumes with the identity that it was made with, on every worker`, async () => {
    const [one, other] = [await live(), await live()]
    const session = await sessionAt(one)
    assert.deepEqual((await shake(one, { ...options(), ...session })).seen, resumed)
    assert.deepEqual((await shake(other, { ...options(), ...session })).seen, resumed)
  })

  test(`${version}: a session does not resume with other ticket keys`, async () => {
    const session = await sessionAt(await live())
    const other = await live({ ticketKeys: newTicketKeys() })
    assert.deepEqual((await shake(other, { ...options(), ...session })).seen, fresh)
  })

  test(`${version}: a session does not resume where other client authorities are trusted`, async () => {
    const session = await sessionAt(await live())
    const other = await live({ clientsCaFile: secondCa })
    const unverified: Seen = { commonName: null, presentedUnverified: true, resumed: false }
    assert.deepEqual((await shake(other, { ...options(), ...session })).seen, unverified)
  })

  test(`${version}: a session does not resume under other CRLs`, async () => {
    const session = await sessionAt(await live())
    const profile = tlsProfile({ ...pair, clientsCaFile: firstCa, ticketKeys })
    const other = await serve(underCrls(profile, 'of today'))
    servers.push(other)
    assert.deepEqual((await shake(other, { ...options(), ...session })).seen, fresh)
    const again = await sessionAt(other)
    assert.deepEqual((await shake(other, { ...options(), ...again })).seen, resumed)
  })

  test(`${version}: a session does not carry a client certificate to where none is asked for, nor back`, async () => {
    const [asking, careless] = [await live(), await live({ clientsCaFile: undefined })]
    const anonymous: Seen = { commonName: null, presentedUnverified: false, resumed: false }
    assert.deepEqual((await shake(careless, { ...options(), ...(await sessionAt(asking)) })).seen, anonymous)
    const { session } = await shake(careless, options())
    assert.deepEqual((await shake(asking, { ...options(), ...(session && { session }) })).seen, fresh)
  })

  test(`${version}: a session made where certificates are optional does not resume where they are required`, async () => {
    const [optional, required] = [await live(), await live({ requireClientCertificate: true })]
    const without: ConnectionOptions = { rejectUnauthorized: false, minVersion: version, maxVersion: version }
    const { session } = await shake(optional, without)
    assert.ok(session !== undefined)
    await assert.rejects(shake(required, { ...without, session }))
    assert.deepEqual((await shake(required, { ...options(), session })).seen, fresh)
  })

  test(`${version}: an authority that is taken away on reload takes its sessions with it`, async () => {
    const one = await live()
    const session = await sessionAt(one)
    one.server.setSecureContext(tlsProfile({ ...pair, clientsCaFile: firstCa, ticketKeys }))
    assert.deepEqual(
      (await shake(one, { ...options(), ...session })).seen,
      resumed,
      'a reload alone ends nothing',
    )
    one.server.setSecureContext(tlsProfile({ ...pair, clientsCaFile: secondCa, ticketKeys }))
    const { seen } = await shake(one, { ...options(), ...session })
    assert.deepEqual(seen, { commonName: null, presentedUnverified: true, resumed: false })
  })
}

test('a reload serves the new certificate to new connections, and leaves the open ones alone', async () => {
  const one = await live()
  const open = connect({ port: one.port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(open, 'secureConnect')
  assert.equal((await shake(one, alice)).serverName, 'CN=server')
  one.server.setSecureContext(tlsProfile({ ...renewed, clientsCaFile: firstCa, ticketKeys }))
  assert.equal((await shake(one, alice)).serverName, 'CN=renewed')
  assert.equal(open.getPeerX509Certificate()?.subject, 'CN=server')
  const [data] = (await once(open, 'data')) as [Buffer]
  assert.match(data.toString(), /"resumed":false/)
  open.destroy()
})

test('ticket keys are 48 random bytes', () => {
  assert.equal(ticketKeys.length, 48)
  assert.notDeepEqual(newTicketKeys(), ticketKeys)
})
