import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { kmsMigrations } from '@warder/kms/testing'
import { type Database, migrate, openSqlite, query, StorageUnavailable } from '@warder/storage'
import { type BudgetedKey, createGcmBudgets } from './gcm-budget.ts'
import { maxInvocations, openBudget, removeBudget, reserveBlock } from './gcm-budget-store.ts'

const reserved = query<[id: string], { readonly reserved: number }>(
  'SELECT reserved FROM gcm_budget WHERE object_id = ?',
)

const key = (id: string, createdAt = 1): BudgetedKey => ({ id: id as BudgetedKey['id'], createdAt })

async function withDatabase(run: (db: Database) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'warder-gcm-'))
  const db = openSqlite({ path: join(home, 'kms.db') })
  try {
    await migrate(db, 'kms', kmsMigrations)
    await run(db)
  } finally {
    await db.close()
    rmSync(home, { recursive: true, force: true })
  }
}

test('invocations are reserved before they are used, in blocks that double', () =>
  withDatabase(async (db) => {
    await db.commit([openBudget('k')])
    const budgets = createGcmBudgets(db, 10)
    for (let used = 1; used <= 5000; used++) {
      await budgets.take(key('k'))
      const row = await db.get(reserved, ['k'])
      assert.ok((row?.reserved ?? 0) >= used)
    }
    assert.ok(((await db.get(reserved, ['k']))?.reserved ?? 0) <= 4 * 5000)
  }))

test('reserved messages that a process did not use count as used', () =>
  withDatabase(async (db) => {
    await db.commit([openBudget('k')])
    await createGcmBudgets(db, 10).take(key('k'))
    const before = (await db.get(reserved, ['k']))?.reserved ?? 0
    await createGcmBudgets(db, 10).take(key('k'))
    assert.ok(((await db.get(reserved, ['k']))?.reserved ?? 0) > before)
  }))

test('the last invocations are reserved one by one, and then none, under concurrent requests', () =>
  withDatabase(async (db) => {
    await db.commit([openBudget('k')])
    await db.commit([reserveBlock('k', maxInvocations - 7)])
    const one = createGcmBudgets(db, 10)
    const other = createGcmBudgets(db, 10)
    const asked = Array.from({ length: 40 }, async (_, index) =>
      (index % 2 === 0 ? one : other).take(key('k')),
    )
    const outcomes = await Promise.allSettled(asked)
    assert.ok(outcomes.filter(({ status }) => status === 'fulfilled').length <= 7)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal(outcome.reason.kind, 'crypto_failure')
    }
    await assert.rejects(async () => one.take(key('k')), { kind: 'crypto_failure' })
    assert.ok(((await db.get(reserved, ['k']))?.reserved ?? 0) <= maxInvocations)
  }))

test('a temporary write failure of the database does not exhaust a key', () =>
  withDatabase(async (db) => {
    await db.commit([openBudget('k')])
    let down = true
    let refused = 0
    const commit: Database['commit'] = async (changes) => {
      if (!down) return db.commit(changes)
      refused += 1
      throw new StorageUnavailable('busy')
    }
    const budgets = createGcmBudgets({ commit, get: db.get.bind(db) }, 10)
    await assert.rejects(async () => budgets.take(key('k')), StorageUnavailable)
    down = false
    await budgets.take(key('k'))
    // The next block is asked for in the background while three quarters of the first are used.
    down = true
    for (let used = 1; used < 1024; used++) await budgets.take(key('k'))
    assert.ok(refused > 1)
    await assert.rejects(async () => budgets.take(key('k')), StorageUnavailable)
    down = false
    await budgets.take(key('k'))
    assert.equal((await db.get(reserved, ['k']))?.reserved, 1024 + 2048)
  }))

test('a key that is not yet stored has no message limit, and is not exhausted once it is stored', () =>
  withDatabase(async (db) => {
    const budgets = createGcmBudgets(db, 10)
    const asked = await Promise.allSettled([budgets.take(key('k')), budgets.take(key('k'))])
    for (const outcome of asked) {
      assert.equal(outcome.status, 'rejected')
      if (outcome.status === 'rejected') assert.equal(outcome.reason.kind, 'not_found')
    }
    await db.commit([openBudget('k', 5)])
    await budgets.take(key('k'))
    assert.equal((await db.get(reserved, ['k']))?.reserved, 5 + 1024)
  }))

test('memory is bounded: the key that was counted first is evicted first', () =>
  withDatabase(async (db) => {
    const budgets = createGcmBudgets(db, 3)
    for (const id of ['a', 'b', 'c', 'd']) {
      await db.commit([openBudget(id)])
      await budgets.take(key(id))
    }
    assert.equal(budgets.size, 3)
  }))

test('a new key under a used identifier has its own message limit', () =>
  withDatabase(async (db) => {
    await db.commit([openBudget('k'), reserveBlock('k', maxInvocations)])
    const budgets = createGcmBudgets(db, 10)
    await assert.rejects(async () => budgets.take(key('k', 1)), { kind: 'crypto_failure' })
    await db.commit([removeBudget('k'), openBudget('k')])
    await budgets.take(key('k', 2))
    assert.equal((await db.get(reserved, ['k']))?.reserved, 1024)
    // The rest of the earlier budget's block is not used.
    await db.commit([removeBudget('k'), openBudget('k')])
    await budgets.take(key('k', 3))
    assert.equal((await db.get(reserved, ['k']))?.reserved, 1024)
  }))
