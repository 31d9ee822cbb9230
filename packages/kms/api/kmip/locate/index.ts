export { type Criteria, readCriteria } from './locate-criteria.ts'
export { type Located, search } from './locate-search.ts'
export { findLinkedMaster } from './tagged-master.ts'
