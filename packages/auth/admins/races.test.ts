import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scene } from '../testing/scene.ts'
import { startAuth } from '../testing/start.ts'
import { countSuperAdmins } from './admin-store.ts'

type Removal = readonly [method: string, path: (id: string) => string, body?: unknown]

const removals: Readonly<Record<string, Removal>> = {
  deleted: ['DELETE', (id) => `/admins/${id}`],
  'stripped of the realm': ['DELETE', (id) => `/admins/${id}/realms/_`],
  replaced: ['PUT', (id) => `/admins/${id}`, { realms: [] }],
}

describe('super administrators that are removed concurrently', () => {
  for (const [how, [method, path, body]] of Object.entries(removals)) {
    it(`are never all ${how}: one stays`, async () => {
      await using auth = await startAuth({ adminPassword: 'correct horse' })
      const { as, admin } = scene(auth)
      const cookie = await auth.superCookie()
      for (let round = 0; round < 5; round++) {
        const ids = ['admin', `other${round}`]
        await admin(`other${round}`, ['_'], { userpass: 'admin' })
        const answers = await Promise.all(ids.map((id) => as(cookie, method, path(id), body)))
        const { count } = await countSuperAdmins(auth.db)
        assert.equal(count, 1, answers.map(({ status }) => status).join())
        assert.equal(answers.filter(({ status }) => status === 409).length, 1)
        const left = ids.find((_, index) => answers[index]?.status === 409) ?? ''
        assert.equal((await as(cookie, 'GET', `/admins/${left}`)).status, 200, 'who stays still can')
        if (left !== 'admin') {
          await as(cookie, 'DELETE', '/admins/admin')
          await admin('admin', ['_'], { userpass: 'admin' })
          assert.equal((await as(cookie, 'DELETE', `/admins/${left}`)).status, 204)
        }
      }
    })
  }

  it('are counted correctly by concurrent requests', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, admin } = scene(auth)
    const cookie = await auth.superCookie()
    const ids = ['admin', ...Array.from({ length: 7 }, (_, index) => `other${index}`)]
    for (const id of ids.slice(1)) await admin(id, ['_'], { userpass: 'admin' })
    const answers = await Promise.all(ids.map((id) => as(cookie, 'DELETE', `/admins/${id}`)))
    const gone = answers.filter(({ status }) => status === 204).length
    assert.ok(answers.every(({ status }) => [204, 409].includes(status)))
    const { count } = await countSuperAdmins(auth.db)
    assert.equal(count, ids.length - gone)
    assert.ok(count >= 1)
  })

  it('can be deleted by two concurrent requests: both report success', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, admin } = scene(auth)
    const cookie = await auth.superCookie()
    for (let round = 0; round < 5; round++) {
      await admin('other', ['_'], { userpass: 'other' })
      const answers = await Promise.all([1, 2, 3].map(() => as(cookie, 'DELETE', '/admins/other')))
      assert.deepEqual(
        answers.map(({ status }) => status),
        [204, 204, 204],
      )
    }
  })
})
