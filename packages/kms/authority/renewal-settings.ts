import type { ManagedObject } from '../keys/index.ts'

/** How a certificate, or the pair that it is for, is renewed by itself. */
export interface RenewalSettings {
  readonly automatic: boolean
  /** Seconds after it was made or renewed; undefined = two thirds of the life of the certificate. */
  readonly everySeconds: number | undefined
}

/** The settings of an object, as every protocol finds them: they are attributes of KMIP. */
export interface RenewalAttributes {
  read(object: ManagedObject): RenewalSettings
  /** Members of the object with these settings, for `UnitOfWork.update`. */
  members(object: ManagedObject, settings: RenewalSettings): Partial<ManagedObject>
  /** @param certificate the object itself, or that of the pair. @returns Unix milliseconds; undefined: it has no dates */
  dueAt(object: ManagedObject, certificate: ManagedObject): number | undefined
}
