import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { preparedCommitMigrations, rememberNode } from '@warder/audit'
import { createHealthReader } from '@warder/runtime'
import { writeNote } from '@warder/runtime/launch'
import { migrate } from '@warder/storage'
import { authMigrations } from './migrations.ts'
import { scene } from './testing/scene.ts'
import { startAuth } from './testing/start.ts'

const path = '/v1/health/details'
const rereadSeconds = 6

/** Without a subject, as public authorities issue them (RFC 5280 §4.1.2.6). */
const withoutSubject = `-----BEGIN CERTIFICATE-----
MIIBdTCCARygAwIBAgIUNFlvaZceCH9Ka4mpZismGYRwA+swCgYIKoZIzj0EAwIw
ADAgFw0yNjExMjgxMDM0MDFaGA8yMTI2MTEwNDEwMzQwMVowADBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABDtTmZyQA1ZITh2Wvq/kqsNH0h3KlTCbPI/DS8C5iiEN
2pMAB42C2jJRdHwAz2eVXrhpPkD8o+U6zX8DfeequIOjcjBwMB0GA1UdDgQWBBSK
EzooVmiRvrC5UOtzWnFxdOtVnzAfBgNVHSMEGDAWgBSKEzooVmiRvrC5UOtzWnFx
dOtVnzAPBgNVHRMBAf8EBTADAQH/MB0GA1UdEQEB/wQTMBGCD2ttcy5leGFtcGxl
LmNvbTAKBggqhkjOPQQDAgNHADBEAiBzIZrSkoLBuGzJJ0BcBSMHhs5uGlm6qX+5
adI00vkcIQIgAvPs5KwOzdItDTPxO4gfj24+cB+Qkyf8QeDF6H/902U=
-----END CERTIFICATE-----`

describe('GET /v1/health/details', () => {
  it('reads the times of backup and drill again, after some seconds', async () => {
    await using auth = await startAuth()
    const { asSuper } = scene(auth)
    const first = (await asSuper('GET', path)).json
    assert.deepEqual(first.backups, { last_backup_at: null, last_drill_at: null })
    const madeAt = auth.clock.now()
    for (const note of ['backup', 'drill'] as const)
      assert.equal(writeNote(auth.home, note, madeAt), undefined)
    assert.deepEqual((await asSuper('GET', path)).json, first, 'the result is reused')
    auth.clock.advance(rereadSeconds)
    const at = new Date(madeAt).toISOString()
    const { backups } = (await asSuper('GET', path)).json
    assert.deepEqual(backups, { last_backup_at: at, last_drill_at: at })
  })

  it('describes the database, its migrations, the disk, and the parts of /health', async () => {
    await using auth = await startAuth()
    const { json } = await scene(auth).asSuper('GET', path)
    assert.deepEqual([json.service, json.node], ['auth', 'test'])
    const { engine, version, location, migrations, problems } = json.database
    assert.equal(engine, auth.db.dialect)
    assert.match(version, /^\d+\.\d+/)
    if (engine === 'sqlite') assert.equal(location, join(auth.home, 'auth.db'))
    assert.deepEqual(problems, [])
    const own = migrations.find(({ component }: { component: string }) => component === 'auth')
    assert.ok(own.done > 0 && own.pending === 0 && own.newer === 0, JSON.stringify(own))
    const [disk] = json.disks
    assert.ok(disk.free_bytes > 0 && disk.free_bytes <= disk.total_bytes)
    assert.equal(disk.path, auth.home)
    assert.equal(json.parts.database.status, 'UP')
  })

  it('names nodes that do not answer', async () => {
    await using auth = await startAuth()
    await migrate(auth.db, 'audit', preparedCommitMigrations)
    const gone = { log: 'gone:/nowhere', node: 'gone', address: '' }
    await auth.db.commit(rememberNode(gone, Date.now(), auth.environment.seal))
    const { nodes } = (await scene(auth).asSuper('GET', path)).json
    assert.deepEqual(
      nodes.map(({ node, answered, reason }: Record<string, unknown>) => [node, answered, reason]),
      [
        ['gone', false, 'node_url is not set there'],
        ['test', true, undefined],
      ],
    )
  })

  it('describes a certificate without a subject', async () => {
    await using auth = await startAuth()
    const read = createHealthReader(
      {
        ...auth.environment,
        inForce: {
          settings: [],
          certificates: () => ({ https: { cert: withoutSubject }, socket: undefined, revoked: undefined }),
          isRootKeyUsable: () => true,
        },
      },
      { name: 'auth', migrations: authMigrations, auditSearch: auth.services.auditSearch },
    )
    const [certificate] = (await read()).certificates
    assert.deepEqual([certificate?.subject, certificate?.names], ['', 'DNS:kms.example.com'])
  })

  it('names an audit log of this node that cannot be read', async () => {
    await using auth = await startAuth()
    mkdirSync(join(auth.home, 'audit'), { recursive: true })
    writeFileSync(join(auth.home, 'audit', 'auth'), 'not a folder')
    const { status, json } = await scene(auth).asSuper('GET', path)
    assert.equal(status, 200, JSON.stringify(json))
    assert.match(json.nodes[0].problems.join(), /cannot be read/)
    assert.ok(json.problems.some(({ about }: { about: string }) => about === 'audit'))
  })

  it('is refused to all but super administrators', async () => {
    await using auth = await startAuth()
    const { realm, user, admin, as, logIn } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    await user('r', 'bob')
    await admin('helper', ['r'], { userpass: 'ann' })
    for (const name of ['ann', 'bob']) {
      const { status, json } = await as(await logIn('r', name), 'GET', path)
      assert.equal(status, 403, name)
      assert.deepEqual(
        Object.keys(json).filter((member) => member === 'settings'),
        [],
      )
    }
    assert.equal((await auth.call('GET', path)).status, 401)
  })
})
