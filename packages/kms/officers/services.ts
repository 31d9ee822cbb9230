import type { Clock } from '@warder/base'
import type { AlgorithmPolicy } from '@warder/crypto'
import type { ExternalServices } from '@warder/external-stores'
import type { Directory } from '@warder/identity'
import type { AccessServices, ManagedObject, Share, UnitOfWork } from '@warder/keys'
import type { NoticeReceiver, Notices } from '@warder/runtime'
import { defineOperation, type Principal } from '@warder/server'
import type { Seal } from '@warder/storage'

/** A request for a ceremony. */
export interface CeremonyRequest {
  readonly services: Pick<OfficerServices, 'db' | 'seal' | 'roles' | 'policy' | 'clock'>
  readonly principal: Pick<Principal, 'name' | 'method'>
  readonly objects: UnitOfWork
  /** Unix milliseconds. */
  readonly now: number
}

/** Makes and reads the shares of ceremonies, which are split keys of KMIP. */
export interface CeremonyShares {
  /**
   * Stages a ceremony whose key is stored only in its shares, one for each officer.
   * @param needsAll true: the shares of all officers are required; false: those of a quorum
   * @returns its identifier
   */
  stageFresh(request: CeremonyRequest, needsAll: boolean): Promise<string>
  /** Reads a share; the caller wipes `part.bytes`. @throws Refusal for an object that is no share with its value */
  read(object: ManagedObject, objects: UnitOfWork, now: number): Promise<Share>
}

/** Services that the operations of crypto officers need. */
export interface OfficerServices extends AccessServices {
  readonly seal: Seal
  readonly clock: Clock
  /** undefined = the settings name no receiver. */
  readonly notices: Pick<Notices, 'tell'> | undefined
  /** Receivers of notices, for a test. */
  readonly receivers: readonly NoticeReceiver[]
  /** Algorithm policy of this server, `fips` included: every operation of REST and KMIP checks it. */
  readonly policy: AlgorithmPolicy
  readonly defaultUsername: string
  /** Address of this service for browsers, without a slash at its end; undefined = it is not configured. */
  readonly publicUrl: string | undefined
  /** Users of the authentication service; undefined = it cannot be queried. */
  readonly directory: Directory | undefined
  readonly external: ExternalServices
  readonly ceremonyShares: CeremonyShares
}

/** Declares an operation of this folder. */
export const define = defineOperation<OfficerServices>()
