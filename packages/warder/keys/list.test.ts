import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KmsClient } from '@warder/client'
import { readVerb } from '@warder/command-line'
import type { KmsContext } from '@warder/command-line/kms'
import { listKeysVerb } from './list.ts'

const row = (id: string) => ({ object_id: id, owner_id: 'alice', state: 'Active', operations: ['encrypt'] })

/** Output of the command for a service that answers with these pages, by what they come after. */
async function listed(
  pages: Readonly<Record<string, { rows: readonly object[]; next?: string }>>,
  ...words: string[]
) {
  const asked: string[] = []
  let shown: unknown
  const kms = {
    async page(_name: string, { query }: { query: { after?: string } }) {
      const after = query.after ?? ''
      asked.push(after)
      return { rows: pages[after]?.rows, next: pages[after]?.next }
    },
  } as unknown as KmsClient
  const show = (value: unknown): void => {
    shown = value
  }
  const context = { kms, show } as unknown as KmsContext
  const { values, names } = readVerb([listKeysVerb], {}, ['list', '--obtained', ...words])
  assert.equal(await listKeysVerb.parse(values, names)(context), 0)
  return { asked, shown }
}

test('a list goes on behind pages that are not full while the service says where', async () => {
  const pages = {
    '': { rows: [], next: 'k2' },
    k2: { rows: [row('k3')], next: 'k5' },
    k5: { rows: [row('k6')] },
  }
  assert.deepEqual(await listed(pages), {
    asked: ['', 'k2', 'k5'],
    shown: { keys: [row('k3'), row('k6')], next: null },
  })
  assert.deepEqual(await listed(pages, '--limit', '1'), {
    asked: ['', 'k2', 'k5'],
    shown: { keys: [row('k3')], next: 'k3' },
  })
})
