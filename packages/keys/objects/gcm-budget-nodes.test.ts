import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bothEngines, kmsMigrations } from '@warder/kms/testing'
import { migrate, query } from '@warder/storage'
import { createGcmBudgets } from './gcm-budget.ts'
import { maxInvocations, openBudget, reserveBlock } from './gcm-budget-store.ts'

const reserved = query<[id: string], { readonly reserved: number }>(
  'SELECT reserved FROM gcm_budget WHERE object_id = ?',
)
const nodes = 3
const asksOfNode = 200
const left = 101
/** Of a block that does not fit a 32nd is tried: fewer may be left over. */
const smallestStep = 32

for (const engine of await bothEngines()) {
  test(`${nodes} nodes on ${engine.name} together reserve no more than the remaining messages of a key (SP 800-38D §8.3)`, {
    skip: engine.skip,
  }, async () => {
    const url = await engine.url()
    const databases = await Promise.all(Array.from({ length: nodes }, () => engine.open(url)))
    const [db] = databases
    assert.ok(db)
    await migrate(db, 'kms', kmsMigrations)
    await db.commit([openBudget('k'), reserveBlock('k', maxInvocations - left)])
    const budgets = databases.map((own) => createGcmBudgets(own, 10))
    const key = { id: 'k', createdAt: 1 } as Parameters<(typeof budgets)[number]['take']>[0]
    const asked = Array.from({ length: nodes * asksOfNode }, async (_, index) =>
      budgets[index % nodes]?.take(key),
    )
    const outcomes = await Promise.allSettled(asked)
    const given = outcomes.filter(({ status }) => status === 'fulfilled').length
    assert.ok(given > 0 && given <= left, `${given} of ${left}`)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal(outcome.reason.kind, 'crypto_failure')
    for (const own of budgets) await assert.rejects(async () => own.take(key), { kind: 'crypto_failure' })
    const spent = (await db.get(reserved, ['k']))?.reserved ?? 0
    assert.ok(spent <= maxInvocations && spent > maxInvocations - smallestStep, `${spent}`)
  })
}
