export { decapsulate } from '../encapsulation/decapsulate.ts'
export { encapsulate } from '../encapsulation/encapsulate.ts'
export { encodeBulkSealRequest } from '../frames/frames.ts'
export { listAttributes } from '../structure/structure.ts'
