import type { AcmeServices } from '../api/acme/protocol/services.ts'
import type { ExternalStoreServices } from '../api/external/scope/services.ts'
import type { KmipServices } from '../api/kmip/engine/services.ts'
import type { OfficerServices } from '../api/officers/services.ts'
import type { PkiServices } from '../api/pki/services.ts'
import type { RestServices } from '../api/services.ts'
import type { TransitServices } from '../api/transit/services.ts'

/** Services of one worker: those that the front ends declare, together. A front end sees no more than it declares. */
export interface KmsServices
  extends TransitServices,
    ExternalStoreServices,
    AcmeServices,
    PkiServices,
    OfficerServices,
    KmipServices,
    RestServices {}
