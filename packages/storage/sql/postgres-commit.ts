import type pg from 'pg'
import type { PostgresClients } from '../postgres/clients.ts'
import { getErrorMessage } from '../postgres/connection-errors.ts'
import { countOnPostgres, countTable, tableNamed } from './commit-count-store.ts'
import { GuardFailed, OutcomeUnknown, StorageUnavailable } from './errors.ts'
import { canGoOn, classify, isRefusal, Retryable, toQueryConfig } from './postgres-statement.ts'
import type { Change, ChangeResult, Commit, Row } from './types.ts'

/** Serialization failures and deadlocks are tried again this often. */
const maxRetries = 5

/**
 * The code of a plain WARNING. A COMMIT has one when its wait for the standby is cancelled: PostgreSQL acknowledges it
 * nevertheless (`SyncRepWaitForLSN`).
 */
const notConfirmed = '01000'
const tableExists = tableNamed.postgresql.replace('?', '$1')
/** In one message: counting costs no journey of its own. When it fails, the rest of the message is not run. */
const countAndCommit = `${countOnPostgres}; COMMIT`

/** Each commit is one transaction on a connection of the pool. */
export function createTransactions(pool: pg.Pool, { retry, isOutdated }: PostgresClients): Commit {
  let counted = false
  /** Asked until the first migrations have created the table. */
  const isCounted = async (client: pg.PoolClient): Promise<boolean> => {
    counted ||= (await client.query(tableExists, [countTable])).rows.length > 0
    return counted
  }
  /** A connection to the host that accepts writes; connections to a former primary are discarded. */
  const getClient = async (): Promise<pg.PoolClient> => {
    try {
      for (;;) {
        const client = await retry(() => pool.connect())
        if (!isOutdated(client)) return client
        client.release(true)
      }
    } catch (error) {
      throw new StorageUnavailable(`PostgreSQL cannot be reached: ${getErrorMessage(error)}`, {
        cause: error,
      })
    }
  }
  const once = async (changes: readonly Change[]): Promise<readonly ChangeResult[]> => {
    const client = await getClient()
    let broken: Error | undefined
    let committing = false
    let confirmed = true
    const listen = ({ code }: { readonly code?: string | undefined }): void => {
      if (code === notConfirmed) confirmed = false
    }
    client.on('notice', listen)
    try {
      await client.query('BEGIN')
      const results: ChangeResult[] = []
      for (const [index, { query: statement, params, expect }] of changes.entries()) {
        const result = await client.query(toQueryConfig(statement, params))
        const touched = result.rowCount ?? 0
        if (expect !== undefined && touched !== expect) throw new GuardFailed(index)
        results.push({ changes: touched, rows: result.rows as Row[] })
      }
      const last = (await isCounted(client)) ? countAndCommit : 'COMMIT'
      committing = true
      await client.query(last)
      if (!confirmed)
        throw new OutcomeUnknown('PostgreSQL committed without its standby: a failover may lose it')
      return results
    } catch (error) {
      // The transaction may have been the one that creates the table.
      if (committing) counted = false
      if (error instanceof OutcomeUnknown) throw error
      // A connection that was lost, or is silent, is not waited for a second time.
      if (canGoOn(error))
        await client.query('ROLLBACK').catch((lost: Error) => {
          broken = lost
        })
      else broken = error instanceof Error ? error : new Error(String(error))
      if (committing && !isRefusal(error))
        throw new OutcomeUnknown('the response to a commit was lost', { cause: error })
      throw classify(error)
    } finally {
      client.off('notice', listen)
      // A connection that did not roll back is thrown away, and its transaction with it.
      client.release(broken)
    }
  }
  return async (changes) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(changes)
      } catch (error) {
        if (!(error instanceof Retryable) || attempt >= maxRetries) {
          throw error instanceof Retryable ? new StorageUnavailable(error.message) : error
        }
        await new Promise((resolve) => setTimeout(resolve, attempt * 5))
      }
    }
  }
}
