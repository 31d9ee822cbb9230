// Settings of officers, approvals and destructions, with their checks. Commands read them: it imports no store.

/** Settings of crypto officers. */
export interface OfficerSettings {
  /** `[roles] crypto_officer_users`, in their order. */
  readonly users: readonly string[]
  /** Whether they are officers only after a ceremony. */
  readonly requireCeremony: boolean
  /** Number of officers whose shares a ceremony requires; undefined = more than half. */
  readonly quorum: number | undefined
  /** How long an activation holds, in seconds. */
  readonly validitySeconds: number
}

/** Operations on an object that may take the approval of crypto officers. */
export const approvableOnObjects = ['destroy', 'export', 'grant'] as const
export type ApprovableOnObject = (typeof approvableOnObjects)[number]
/**
 * The same for the installation: stopping and resuming an external key store, an access key for AWS KMS, changes of
 * officers or approvals in the settings, another root key, serving a restored backup.
 */
const approvableOnAll = [
  'stop_store',
  'start_store',
  'access_key',
  'settings',
  'root_key',
  'restore_backup',
] as const
export const approvable = [...approvableOnObjects, ...approvableOnAll] as const
export type Approvable = (typeof approvable)[number]
/** Requests that officers decide: also to make one of them active, in place of the shares of a ceremony. */
export const askable = [...approvable, 'activate'] as const
export type Askable = (typeof askable)[number]

/** `approvals.credential_wait` where it is not set, also of older records. */
export const defaultCredentialWaitSeconds = 86_400

/** Settings of approvals. An empty list of tags, algorithms or owners restricts nothing. */
export interface ApprovalSettings {
  readonly operations: readonly Approvable[]
  readonly tags: readonly string[]
  readonly algorithms: readonly string[]
  readonly owners: readonly string[]
  /** How long a request can be approved, and an approved one be used. */
  readonly validitySeconds: number
  /** Methods of the credentials with which officers vote. Empty or absent, as in older records: all. */
  readonly voteWith?: readonly string[]
  /** How long a credential that an administrator set does not vote; 0: it votes at once. Absent: the default. */
  readonly credentialWaitSeconds?: number
}

/** Methods of the credentials that administrators of the authentication service cannot set. */
export const personalMethods: readonly string[] = ['tls_auth', 'jwt_auth']

/** Minimum and maximum delay of a destruction in days, if it is delayed. */
const minDays = 7
export const maxDays = 30

/** Settings of waiting destruction. Days: 0, or `minDays` to `maxDays`. */
export interface DestructionSettings {
  /** Of every object. */
  readonly days: number
  readonly byTag: ReadonlyMap<string, number>
  /** By `AES`, `RSA` … */
  readonly byAlgorithm: ReadonlyMap<string, number>
}

/** @returns the problem of a number of days; undefined: none */
export function daysProblem(days: number): string | undefined {
  const right = Number.isInteger(days) && (days === 0 || (days >= minDays && days <= maxDays))
  return right ? undefined : `the number of days must be 0, or ${minDays} to ${maxDays}`
}

const rule = /^(tag|alg):(.+)=(\d{1,3})$/s

/**
 * Parses rules like `tag:payments=30` and `alg:RSA=14`; of several for one name the longest applies.
 * @returns undefined for an invalid list
 */
export function readDaysBy(
  list: readonly string[],
): Pick<DestructionSettings, 'byTag' | 'byAlgorithm'> | undefined {
  const [byTag, byAlgorithm] = [new Map<string, number>(), new Map<string, number>()]
  for (const text of list) {
    const [, kind, name = '', number] = rule.exec(text) ?? []
    const days = Number(number)
    if (kind === undefined || days === 0 || daysProblem(days) !== undefined) return undefined
    const rules = kind === 'tag' ? byTag : byAlgorithm
    rules.set(name, Math.max(days, rules.get(name) ?? 0))
  }
  return { byTag, byAlgorithm }
}
