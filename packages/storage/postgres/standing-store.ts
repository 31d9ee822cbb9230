import pg from 'pg'

/** State of a host at this moment. */
export interface Standing {
  readonly standby: boolean
  readonly readOnly: boolean
  /** Which database system (`initdb`) this is a copy of; undefined = the engine does not report it. */
  readonly system: bigint | undefined
  /**
   * Grows with each promotion (PostgreSQL 18 §25.3.6); undefined for a standby, or when the engine does not
   * report it.
   */
  readonly timeline: number | undefined
}

const state = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS "readOnly"`
/**
 * The name of the segment that is being written begins with the timeline; the control file contains it later.
 */
const identity = `SELECT CAST(system_identifier AS TEXT) AS system,
  CASE WHEN pg_is_in_recovery() THEN NULL ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS segment
  FROM pg_control_system()`

/** @throws the error of the client library when the connection is lost */
export async function readStanding(client: pg.Client): Promise<Standing> {
  const [found] = (await client.query<{ standby: boolean; readOnly: boolean }>(state)).rows
  const known = await client.query<{ system: string; segment: string | null }>(identity).catch((error) => {
    // An engine that only speaks the protocol knows neither.
    if (error instanceof pg.DatabaseError) return undefined
    throw error
  })
  const [row] = known?.rows ?? []
  return {
    standby: found?.standby ?? false,
    readOnly: found?.readOnly ?? false,
    system: row === undefined ? undefined : BigInt(row.system),
    timeline: row?.segment == null ? undefined : Number.parseInt(row.segment, 16),
  }
}
